// The rail of sessions: those in which something waits first, then the newest.
import { now } from "../broker/clock";
import { sessionName, type Group } from "../queue/model";
import { selected, sessions, waiting } from "../queue/state";
import { visibleLine } from "../text/visible";
import { words } from "../text/words";
import { listed, restsNow, stateWords } from "./story";

// Of the sessions in which nothing waits, so many are in the rail.
const railSize = 20;

export function Rail({ all }: { all: Group[] }) {
  const total = waiting.value;
  const stand = sessions.value;
  const busy = new Set(all.map((g) => g.sessionId));
  const calm = listed(stand.values(), railSize, now.value).filter((s) => !busy.has(s.sessionId));
  const chosen = stand.get(selected.value);
  if (chosen && !busy.has(chosen.sessionId) && !calm.includes(chosen)) calm.push(chosen); // an old one, from a search
  const names = sessionNames([...all.map((g) => g.items[0]!.request), ...calm]);
  return (
    <nav class="rail" data-ui="sessions" aria-label={words.desk.sessions}>
      <h2>{words.desk.sessions}</h2>
      <button type="button" aria-pressed={selected.value === ""} onClick={() => (selected.value = "")}>
        <span>{words.desk.all}</span> <span class="count">{total}</span>
      </button>
      {[...all.map((g) => ({ id: g.sessionId, branch: g.items[0]!.request.repo?.branch, waiting: g.waiting })), ...calm.map((s) => ({ id: s.sessionId, branch: s.repo?.branch, waiting: 0 }))].map((p) => {
        const s = stand.get(p.id);
        const { state, title } = s ?? {};
        return (
          <button type="button" key={p.id} data-session={p.id} aria-pressed={selected.value === p.id} onClick={() => (selected.value = p.id)}>
            <span>
              {state && <i class={`dot ${restsNow(s) ? "" : state}`} aria-hidden="true" />}
              {names.get(p.id)}
              {title && !names.get(p.id)?.startsWith(title) && <small class="about">{title}</small>}
              {p.branch && <small class="branch">{visibleLine(p.branch)}</small>}
              {state && <small>{stateWords(s)}</small>}
            </span>{" "}
            {p.waiting > 0 && <span class="count">{p.waiting}</span>}
          </button>
        );
      })}
    </nav>
  );
}

/** Names of sessions, told apart by their ids where two are the same. */
export function sessionNames(all: Parameters<typeof sessionName>[0][]): Map<string, string> {
  const names = new Map(all.map((s) => [s.sessionId, visibleLine(sessionName(s))]));
  const count = new Map<string, number>();
  for (const n of names.values()) count.set(n, (count.get(n) ?? 0) + 1);
  for (const [id, n] of names) if (count.get(n)! > 1) names.set(id, `${n} …${visibleLine(id.slice(-4))}`);
  return names;
}
