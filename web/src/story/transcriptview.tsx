// What happened in the selected session, as a conversation: prompts, the agent's words, and a row
// for each call. It never scrolls unasked: news is appended, and followed only where the reader is
// at the end already.
import { useMemo, useRef } from "preact/hooks";
import { now } from "../broker/clock";
import type { SessionInfo } from "../broker/types.gen";
import { agoWords } from "../queue/model";
import { selected, sessions } from "../queue/state";
import { visibleLine } from "../text/visible";
import { words } from "../text/words/all";
import { CallRow } from "./callview";
import { ChangedFiles } from "./changedfiles";
import { Composer } from "./composer";
import { earlier, feedTrouble, fetchingEarlier, story } from "./feed";
import { toEnd, useFollow } from "./follow";
import { badge, signed, startsOpen, stateWords } from "./story";
import { transcript, type Call, type Plain, type Row } from "./transcript";

export function Transcript() {
  const s = story.value;
  const info = sessions.value.get(selected.value);
  const rows = useMemo(() => transcript(s?.lines ?? []), [s?.lines]);
  const calls = rows.filter((r): r is Call => r.kind === "call");
  const list = useRef<HTMLOListElement>(null);
  const behind = useFollow(list, s?.lines[0]?.pos, s?.lines.length ?? 0, s?.sessionId);
  return (
    <>
      <SessionHead info={info} />
      {feedTrouble.value && (
        <p class="notice" role="status">
          {feedTrouble.value}
        </p>
      )}
      {calls
        .filter((c) => c.mark === "overruled")
        .map((c) => (
          <a class="pin" key={c.id} href={`#e${c.pos}`} onClick={(click) => jump(click, c.pos)}>
            {c.tool} {c.what}: {c.why}
          </a>
        ))}
      <ChangedFiles calls={calls} all={!s?.earlier} jump={jump} />
      {s?.earlier && (
        <button type="button" class="more" disabled={fetchingEarlier.value} onClick={() => void earlier()}>
          {fetchingEarlier.value ? words.feed.fetching : words.feed.earlier}
        </button>
      )}
      {s && rows.length === 0 && <p class="quiet">{words.feed.nothing}</p>}
      <ol class="story" data-ui="story" ref={list} aria-label={words.desk.whatHappened}>
        {rows.map((r, i) => (
          <One key={r.id} row={r} session={info} day={dayOf(r) !== dayOf(rows[i - 1]) ? dayOf(r) : ""} />
        ))}
      </ol>
      {behind && (
        <button type="button" class="newest" data-action="newest" onClick={() => toEnd(list.current)}>
          {words.feed.newest}
        </button>
      )}
      {s && <Composer session={info} />}
    </>
  );
}

function jump(click: Event, pos: number): void {
  click.preventDefault();
  document.getElementById(`e${pos}`)?.scrollIntoView({ block: "center" });
}

function SessionHead({ info }: { info: SessionInfo | undefined }) {
  if (!info) return <h2>{words.desk.whatHappened}</h2>;
  const tasks = info.tasks ?? [];
  const done = tasks.filter((t) => t.status === "done").length;
  const subs = (info.actors ?? []).filter((a) => a.kind === "subagent" && a.running);
  return (
    <header class="session-head" data-ui="session">
      <h2><bdi>{info.title || words.desk.whatHappened}</bdi></h2>
      <p class="where">
        <b class={`state ${info.state ?? "unknown"}`}>{stateWords(info)}</b>
        {!info.agentProcess && info.state !== "exited" && info.lastEventAt && <span>{words.feed.heard(agoWords(now.value - Date.parse(info.lastEventAt)))}</span>}
        {info.repo?.branch && <span class="branch"><bdi>{visibleLine(info.repo.branch)}</bdi></span>}
        {info.host && <span><bdi>{visibleLine(info.host)}</bdi></span>}
        {subs.map((a) => (
          <span class="chip" key={a.actor_id}>
            {visibleLine(a.display_name)}
          </span>
        ))}
      </p>
      {tasks.length > 0 && (
        <details class="tasks">
          <summary>
            {words.feed.tasks(done, tasks.length)}
          </summary>
          <ul>
            {tasks.map((t) => (
              <li key={t.todo_id} class={t.status}>
                {visibleLine(t.text)} {t.status !== "open" && <small>{t.status}</small>}
              </li>
            ))}
          </ul>
        </details>
      )}
    </header>
  );
}

function One({ row, session, day }: { row: Row; session: SessionInfo | undefined; day: string }) {
  return (
    <>
      {day && <li class="day">{day}</li>}
      <Content row={row} session={session} />
    </>
  );
}

const longPrompt = 600; // characters; of a longer one the beginning is shown

function Content({ row: r, session }: { row: Row; session: SessionInfo | undefined }) {
  switch (r.kind) {
    case "prompt":
      return (
        <li id={`e${r.pos}`} class="said-by you" data-ui="prompt" data-kind="user.prompt">
          <span class="who">
            {r.from ? words.feed.from(r.from) : words.feed.you} <Time ts={r.ts} />
          </span>
          <Long text={r.text || words.feed.emptyPrompt} />
        </li>
      );
    case "words":
      return (
        <li id={`e${r.pos}`} class={`said-by${r.sub ? " sub" : ""}`} data-ui="words" data-kind="message">
          <span class="who">
            {r.sub ? words.feed.subagent : words.feed.agent} <Time ts={r.ts} />
          </span>
          <Long text={r.text} />
        </li>
      );
    case "call":
      return <CallRow call={r} session={session} />;
    case "end":
      return (
        <li id={`e${r.pos}`} class={`turn ${r.level}`} data-ui="turn" data-kind="run.end">
          <span>{r.text}</span> <Time ts={r.ts} />
        </li>
      );
    default:
      return <Entry row={r} />;
  }
}

function Long({ text }: { text: string }) {
  if (text.length <= longPrompt) return <p dir="auto">{text}</p>;
  return (
    <details class="long">
      <summary>
        <p dir="auto">{text.slice(0, longPrompt)}…</p>
      </summary>
      <p dir="auto">…{text.slice(longPrompt)}</p>
    </details>
  );
}

function Entry({ row: { e, sub } }: { row: Plain }) {
  const marks = e.marks?.map((m) => m.replaceAll("_", " ")).join(", ");
  const title = (
    <>
      <span class="title">{signed(e.title)}</span>
      {badge(e) && <span class="badge">{badge(e)}</span>}
      {marks && <span class="marks">{marks}</span>}
    </>
  );
  return (
    <li id={`e${e.pos}`} class={`event ${e.level}${sub ? " sub" : ""}`} data-kind={e.kind}>
      {e.body ? (
        <details open={startsOpen(e)}>
          <summary>{title}</summary>
          <pre>{e.body}</pre>
        </details>
      ) : (
        <div>{title}</div>
      )}
      <Time ts={e.ts} />
    </li>
  );
}

function Time({ ts }: { ts: number }) {
  const at = new Date(ts);
  if (isNaN(at.getTime())) return <time>–</time>;
  return <time dateTime={at.toISOString()}>{at.toTimeString().slice(0, 5)}</time>;
}

function dayOf(r: Row | undefined): string {
  if (!r) return "";
  const at = new Date(r.ts);
  return isNaN(at.getTime()) ? "" : at.toLocaleDateString(undefined, { weekday: "long", day: "numeric", month: "long" });
}
