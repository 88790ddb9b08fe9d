// The trace of one request, or of one message to an agent: each step that the broker recorded, its signature, and its place in the tree over the record. What
// is said here is the broker's word; the commands at the end are for whoever wants the proof.
import { useEffect, useState } from "preact/hooks";
import { ApiError, reason } from "../broker/http";
import type { AuditStep, AuditTrace } from "../broker/types.gen";
import { authorized } from "../device/session";
import { since } from "../queue/model";
import { visibleLine } from "../text/visible";
import { words } from "../text/words/all";
import { whoIs } from "./who";

const w = words.trace;

/** What the record calls a message to an agent. */
export const recordOf = (message: string) => `msg-${message}`;

export function Trace({ id }: { id: string }) {
  const [trace, setTrace] = useState<AuditTrace>();
  const [error, setError] = useState("");
  useEffect(() => {
    let gone = false;
    authorized<AuditTrace>("GET", `/v1/requests/${encodeURIComponent(id)}/audit`).then(
      (t) => gone || setTrace(t),
      (e: unknown) => gone || setError(id.startsWith(recordOf("")) && e instanceof ApiError && e.status === 404 && e.fromBroker ? w.nothing : w.failed(reason(e))),
    );
    return () => void (gone = true);
  }, [id]);
  if (error) {
    return (
      <p class="notice" role="alert">
        {error}
      </p>
    );
  }
  if (!trace) return <p class="quiet">{w.fetching}</p>;
  const { steps, tree } = trace;
  return (
    <section class="trace" data-ui="trace" aria-label={w.head}>
      <ol>
        {steps.map((s, i) => (
          <Step key={i} s={s} before={steps.slice(0, i).findLast((b) => !b.shown)} place={s.place === "waits" ? (tree.stopped ? "stopped" : tree.late ? "late" : "waits") : s.place} />
        ))}
      </ol>
      {[tree.wrong && w.wrong(line(tree.wrong)), tree.stopped && w.stopped(line(tree.stopped)), tree.late && w.late(line(tree.late))].map(
        (what) =>
          what && (
            <p class="notice" data-ui="trace-wrong" key={what}>
              {what}
            </p>
          ),
      )}
      {tree.time && <p data-ui="trace-tree">{w.tree(tree.size ?? 0, clock(tree.time))}</p>}
      <p data-ui="trace-word">{w.word}</p>
      <pre tabIndex={0}>{`assent audit prove ${visibleLine(id)} > proof.jsonl\nassent audit verify proof.jsonl --key broker.pub`}</pre>
    </section>
  );
}

function Step({ s, before, place }: { s: AuditStep; /** The one before by the same clock. */ before: AuditStep | undefined; place: "tree" | keyof typeof w.places }) {
  const who = s.by ? whoIs({ kind: s.by.kind, name: s.by.name ?? s.by.kind }) : "";
  const took = before ? Date.parse(s.time) - Date.parse(before.time) : 0;
  const bad = s.signature === "BAD" || s.signature === "UNVERIFIED";
  const said = [
    s.shown ? w.shownTo(who) : s.step === "shown" ? w.onScreen(who) : [s.outcome && outcome(s), who && (s.by?.kind === "owner-cli" ? who : w.by(who))].filter(Boolean).join(" "),
    s.reason && (words.history.reasons[s.reason] ?? visibleLine(s.reason)),
    s.step === "confirmed" && s.eventSeq ? w.ran(s.eventSeq) : "",
    s.failure && visibleLine(s.failure),
  ].filter(Boolean);
  return (
    <li data-step={s.step} data-signature={s.signature ?? "none"} data-place={place}>
      <b>{w.steps[s.step]}</b> <time dateTime={s.time}>{clock(s.time)}</time>
      {s.shown ? <span class="quiet"> {w.here}</span> : took > 0 && <span class="quiet"> {w.after(took < 10_000 ? (took / 1000).toFixed(2) : since(took))}</span>}
      {said.length > 0 && <div>{said.join(" · ")}</div>}
      {s.shown && <div class="quiet">{shownWords(s.shown)}</div>}
      <div class={bad ? "bad" : "quiet"} data-ui="signature">
        {s.signature ? w.signatures[s.signature] : w.unsigned[s.by?.kind ?? "broker"]}
        {s.key && s.step !== "shown" && (
          <>
            {" "}
            {w.key(visibleLine(s.key.slice(0, 8)))}
            {s.by?.kind === "rule" ? "." : `; ${w.code[s.by?.codeOrigin ?? "unknown"]}.`}
          </>
        )}
      </div>
      <div class={place === "missing" ? "bad" : "quiet"} data-ui="place">
        {place === "tree" ? w.leaf(s.leaf ?? 0) : w.places[place]}
      </div>
    </li>
  );
}

function outcome(s: AuditStep): string {
  return (words.history.outcomes[s.outcome!] ?? visibleLine(s.outcome!)) + (s.edited ? words.history.edited : s.contained ? words.history.contained : "");
}

/** What a device said that it showed: the sentence, the risk, the tool and the directory, where it said so in these words. */
function shownWords(text: string): string {
  try {
    const { sentence, risk, tool, cwd, folded, unseen } = JSON.parse(text) as Record<string, unknown>;
    const parts = [sentence, risk, tool, cwd].filter((v): v is string => typeof v === "string" && v !== "").map(visibleLine);
    if (typeof folded === "number" && typeof unseen === "number") parts.push(folded + unseen === 0 ? w.all : w.left(folded, unseen));
    if (parts.length > 0) return parts.join(" · ");
  } catch {
    // another program's text
  }
  return visibleLine(text);
}

const line = (text: string) => visibleLine(text).replace(/\.$/, "");

function clock(at: string): string {
  return new Date(at).toLocaleString([], { dateStyle: "medium", timeStyle: "medium" });
}
