// The list of what waits: a line for each request, and one for identical requests.
import { signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { now } from "../broker/clock";
import { visibleLine } from "../text/visible";
import { words } from "../text/words";
import { AgentMark } from "./agent";
import { current, show } from "./current";
import { saysOf, sessionName, since, wantsMore, type Entry } from "./model";

const page = 50;

/** How many lines are shown; the rest is a tap away. */
const limit = signal(page);

export function List({ entries }: { entries: readonly Entry[] }) {
  const list = useRef<HTMLUListElement>(null);
  const shown = useSteady(entries, list.current).slice(0, limit.value);
  const left = entries.length - shown.length;
  return (
    <>
      <ul class="entries" data-ui="entries" ref={list}>
        {shown.map((e) => (
          <Line key={e.items[0]!.request.id} entry={e} />
        ))}
      </ul>
      {left > 0 && (
        <button type="button" class="more" data-action="more" onClick={() => (limit.value += page)}>
          {words.desk.more(left)}
        </button>
      )}
    </>
  );
}

/** While a pointer is on the list, what is in it keeps its place and news goes to the end. */
function useSteady(entries: readonly Entry[], list: HTMLElement | null): readonly Entry[] {
  const before = useRef<readonly Entry[]>([]);
  if (list?.matches(":active, :hover")) {
    const at = new Map(before.current.map((e, i) => [e.items[0]!.request.id, i]));
    const place = (e: Entry) => at.get(e.items[0]!.request.id) ?? at.size;
    entries = [...entries].sort((a, b) => place(a) - place(b));
  }
  before.current = entries;
  return entries;
}

function Line({ entry }: { entry: Entry }) {
  const first = entry.items[0]!;
  const r = first.request;
  const here = entry.items.some((i) => i.request.id === current.value);
  const risk = wantsMore(r) ? "asks" : (r.risk ?? "attention");
  return (
    <li>
      <button type="button" class="entry" data-ui="entry" data-request={r.id} data-state={risk} aria-current={here} onClick={() => show(here ? current.peek() : r.id)}>
        <i class={`dot ${risk}`} role="img" aria-label={words.list.risks[risk] ?? risk} title={words.list.risks[risk] ?? risk} />
        <span class="what">{saysOf(first)}</span>
        {entry.items.length > 1 && <b class="times">{words.list.times(entry.items.length)}</b>}
        <small>
          <AgentMark of={r} /> <bdi>{visibleLine(sessionName(r))}</bdi> · <Age at={r.createdAt} />
        </small>
      </button>
    </li>
  );
}

function Age({ at }: { at: string }) {
  return <time dateTime={at}>{since(Math.max(0, now.value - Date.parse(at)))}</time>;
}
