// One call in the transcript: what it is, and how it stands.
import { useMemo, useState } from "preact/hooks";
import { now } from "../broker/clock";
import type { SessionInfo } from "../broker/types.gen";
import { Changes } from "../card/changes";
import { near } from "../card/diff";
import { Difference } from "../card/difference";
import { relative } from "../card/paths";
import { since } from "../queue/model";
import { visibleLine } from "../text/visible";
import { words } from "../text/words/all";
import { changeOf, diffsOf } from "./edits";
import { placeOf } from "./story";
import type { Call } from "./transcript";

const signs: Readonly<Record<Call["mark"], string>> = { running: "…", waiting: "?", allowed: "✓", ran: "✓", failed: "✕", denied: "✕", over: "–", overruled: "‼" };

export function CallRow({ call: c, session }: { call: Call; session: SessionInfo | undefined }) {
  const [open, setOpen] = useState(false);
  const change = changeOf(c);
  const diffs = useMemo(() => (open && change ? diffsOf(change) : []), [open, c.input, c.response]);
  const more = c.whole || c.difference || c.result || c.why.length > shortWhy || c.why.includes("\n") || change;
  const head = (
    <>
      <span class="call">
        <b>{c.tool}</b> <code class="what">{isPath(c) ? relative(c.what, placeOf(session)) : c.what}</code>
      </span>
      <Standing call={c} />
    </>
  );
  return (
    <li id={`e${c.pos}`} class={`step${c.sub ? " sub" : ""}`} data-ui="call" data-state={c.mark}>
      {more ? (
        <details onToggle={(e) => setOpen(e.currentTarget.open)}>
          <summary>{head}</summary>
          {open && (
            <div class="inside">
              {c.whole && <pre>{c.whole}</pre>}
              {c.difference && <Difference text={c.difference} />}
              {change?.blind && <p class="quiet">{words.feed.blind}</p>}
              {diffs.map((d, i) => <Changes key={i} diff={d} lines={near(d)} />)}
              {c.why && (c.mark === "failed" || c.mark === "denied") && <pre>{c.why}</pre>}
              {c.result && !change && <pre>{c.result}</pre>}
            </div>
          )}
        </details>
      ) : (
        head
      )}
    </li>
  );
}

/** Whether what a call is known by is the file that it is about. */
function isPath(c: Call): boolean {
  const { file_path, notebook_path } = (c.input ?? {}) as Record<string, unknown>;
  const path = file_path ?? notebook_path;
  return typeof path === "string" && visibleLine(path) === c.what;
}

const shortWhy = 160; // characters

/** The mark, and who answered. */
function Standing({ call: c }: { call: Call }) {
  const time = c.ms === undefined || c.ms < 50 ? "" : lasted(c.ms);
  const state = words.feed.call.marks[c.mark];
  const why = c.why.split("\n")[0]!;
  const answered = c.mark === "allowed" || c.mark === "denied" || (c.mark === "ran" && c.asks); // the answer is how it stands
  return (
    <span class="standing">
      <span class={`mark ${c.mark}`} data-ui="mark">
        <span aria-hidden="true">{signs[c.mark]} </span>
        {answered && c.answer ? c.answer : state}
        {(c.mark === "ran" && !c.asks) || c.mark === "failed" ? time && `, ${time}` : ""}
        {c.mark === "waiting" && ` · ${since(Math.max(0, now.value - c.ts))}`}
      </span>
      {!answered && c.answer && <span>{c.answer}</span>}
      {c.answers.map((a) => (
        <span class="given" key={a.question}>
          → {a.answer}
        </span>
      ))}
      {why && (
        <span class="why">
          {why.slice(0, shortWhy)}
          {why.length > shortWhy && "…"}
        </span>
      )}
      {c.odd.length > 0 && <span class="marks">{c.odd.map((m) => m.replaceAll("_", " ")).join(", ")}</span>}
    </span>
  );
}

/** How long a call ran: "0.4 s", "3 s", "12 min". */
function lasted(ms: number): string {
  return ms < 950 ? words.time.seconds(Number((ms / 1000).toFixed(1))) : ms < 60_000 ? words.time.seconds(Math.round(ms / 1000)) : since(ms);
}
