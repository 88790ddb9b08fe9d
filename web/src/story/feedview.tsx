// The column that tells what happened: the feed of the selected session, and the search over
// all of them. It never scrolls unasked: news is appended, and followed only where the
// reader is at the end already.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { now } from "../broker/clock";
import type { Found, SessionInfo } from "../broker/types.gen";
import { agoWords } from "../queue/model";
import { selected, sessions } from "../queue/state";
import { visibleLine } from "../text/visible";
import { words } from "../text/words";
import { earlier, feedTrouble, fetchingEarlier, find, found, searchTrouble, story } from "./feed";
import { badge, foundLine, ofSubagents, readable, signed, startsOpen, stateWords, type Line } from "./story";

const nearEnd = 40; // px from the end that still count as being there

export function Story() {
  const s = story.value;
  const info = sessions.value.get(selected.value);
  const lines = readable(s?.lines ?? []);
  const subs = ofSubagents(s?.lines ?? []);
  const pins = lines.filter((e) => e.ui?.pin);
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
      {pins.map((e) => (
        <a class="pin" key={e.event_id} href={`#e${e.pos}`} onClick={(click) => jump(click, e)}>
          {e.title}
        </a>
      ))}
      {s?.earlier && (
        <button type="button" class="more" disabled={fetchingEarlier.value} onClick={() => void earlier()}>
          {fetchingEarlier.value ? words.feed.fetching : words.feed.earlier}
        </button>
      )}
      {s && lines.length === 0 && <p class="quiet">{words.feed.nothing}</p>}
      <ol class="story" data-ui="story" ref={list} aria-label={words.desk.whatHappened}>
        {lines.map((e, i) => (
          <Entry key={e.event_id} e={e} sub={subs.has(e.event_id)} day={dayOf(e) !== dayOf(lines[i - 1]) ? dayOf(e) : ""} />
        ))}
      </ol>
      {behind && (
        <button type="button" class="newest" data-action="newest" onClick={() => toEnd(list.current)}>
          {words.feed.newest}
        </button>
      )}
    </>
  );
}

function jump(click: Event, e: Line): void {
  click.preventDefault();
  document.getElementById(`e${e.pos}`)?.scrollIntoView({ block: "center" });
}

function SessionHead({ info }: { info: SessionInfo | undefined }) {
  if (!info) return <h2>{words.desk.whatHappened}</h2>;
  const tasks = info.tasks ?? [];
  const done = tasks.filter((t) => t.status === "done").length;
  const subs = (info.actors ?? []).filter((a) => a.kind === "subagent" && a.running);
  return (
    <header class="session-head" data-ui="session">
      <h2>{info.title || words.desk.whatHappened}</h2>
      <p class="where">
        <b class={`state ${info.state ?? "unknown"}`}>{stateWords(info)}</b>
        {!info.agentProcess && info.state !== "exited" && info.lastEventAt && <span>{words.feed.heard(agoWords(now.value - Date.parse(info.lastEventAt)))}</span>}
        {info.repo?.branch && <span class="branch">{visibleLine(info.repo.branch)}</span>}
        {info.host && <span>{visibleLine(info.host)}</span>}
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

function Entry({ e, sub, day }: { e: Line; sub: boolean; day: string }) {
  const at = new Date(e.ts);
  const marks = e.marks?.map((m) => m.replaceAll("_", " ")).join(", ");
  const title = (
    <>
      <span class="title">{signed(e.title)}</span>
      {badge(e) && <span class="badge">{badge(e)}</span>}
      {marks && <span class="marks">{marks}</span>}
    </>
  );
  return (
    <>
      {day && <li class="day">{day}</li>}
      <li id={`e${e.pos}`} class={`event ${e.level}${sub ? " sub" : ""}`} data-kind={e.kind}>
        <time dateTime={isNaN(at.getTime()) ? "" : at.toISOString()}>{clock(at)}</time>
        <div>
          {e.body ? (
            <details open={startsOpen(e)}>
              <summary>{title}</summary>
              <pre>{e.body}</pre>
            </details>
          ) : (
            title
          )}
        </div>
      </li>
    </>
  );
}

function clock(at: Date): string {
  return isNaN(at.getTime()) ? "–" : at.toTimeString().slice(0, 8);
}

function dayOf(e: Line | undefined): string {
  if (!e) return "";
  const at = new Date(e.ts);
  return isNaN(at.getTime()) ? "" : at.toLocaleDateString(undefined, { weekday: "long", day: "numeric", month: "long" });
}

/** The box that scrolls the list: its column on a wide screen; on a phone the page, which
 * is left alone. */
function boxOf(list: HTMLElement | null): HTMLElement | undefined {
  const box = list?.closest<HTMLElement>(".feed") ?? undefined;
  return box && box.scrollHeight > box.clientHeight && getComputedStyle(box).overflowY !== "visible" ? box : undefined;
}

function toEnd(list: HTMLElement | null): void {
  const box = boxOf(list);
  if (box) box.scrollTop = box.scrollHeight;
  else list?.lastElementChild?.scrollIntoView({ block: "end" });
}

/** Keeps the reader's place: at the end if that is where they are, and at the same line when
 * older ones come before it. True when there is more below. */
function useFollow(list: { current: HTMLOListElement | null }, first: number | undefined, count: number, session: string | undefined): boolean {
  const scroll = useRef({ atEnd: true, height: 0, first, session });
  const [behind, setBehind] = useState(false);
  useLayoutEffect(() => {
    const column = list.current?.closest<HTMLElement>(".feed");
    if (!column) return;
    const look = () => {
      const box = boxOf(list.current);
      scroll.current.atEnd = !box || box.scrollHeight - box.scrollTop - box.clientHeight <= nearEnd;
      setBehind(!scroll.current.atEnd);
    };
    column.addEventListener("scroll", look, { passive: true });
    return () => column.removeEventListener("scroll", look);
  }, []);
  useLayoutEffect(() => {
    const p = scroll.current;
    const box = boxOf(list.current);
    if (box && p.session !== session) p.atEnd = true;
    if (box && p.atEnd) box.scrollTop = box.scrollHeight;
    else if (box && first !== undefined && p.first !== undefined && first < p.first) box.scrollTop += box.scrollHeight - p.height;
    else if (box && count > 0 && box.scrollHeight - box.scrollTop - box.clientHeight > nearEnd) setBehind(true);
    scroll.current = { ...p, height: box?.scrollHeight ?? 0, first, session };
  }, [first, count, session]);
  return behind;
}

export function Search() {
  const [looked, setLooked] = useState("");
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const type = (text: string) => {
    setLooked(text);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => void find(text), 250);
  };
  const hits = found.value;
  return (
    <search class="search">
      <input type="search" aria-label={words.feed.search} placeholder={words.feed.search} maxLength={200} value={looked} onInput={(e) => type(e.currentTarget.value)} />
      {searchTrouble.value && <p class="quiet">{searchTrouble.value}</p>}
      {hits && hits.length === 0 && <p class="quiet">{words.feed.notFound}</p>}
      {hits && hits.length > 0 && (
        <ul aria-label={words.feed.found}>
          {hits.map((f) => (
            <Hit
              key={f.id}
              found={f}
              line={foundLine(f.event as Line, looked)}
              open={() => {
                selected.value = f.event.session_id;
                type("");
              }}
            />
          ))}
        </ul>
      )}
    </search>
  );
}

function Hit({ found: f, line, open }: { found: Found; line: string; open: () => void }) {
  const at = new Date(f.event.ts);
  return (
    <li>
      <button type="button" class="hit" data-action="hit" onClick={open}>
        <small>
          {f.sessionTitle ?? words.feed.session} · {isNaN(at.getTime()) ? "" : at.toLocaleString()}
        </small>
        <span>{signed(f.event.title)}</span>
        {line && <small class="line">{line}</small>}
      </button>
    </li>
  );
}
