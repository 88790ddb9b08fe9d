// The list of sessions: those in which something waits first, then the newest.
import { Agents } from "../agents/list";
import { twoEnds } from "../card/head";
import { AgentMark } from "../queue/agent";
import { sessionName, type Group } from "../queue/model";
import { groups, selected, sessions } from "../queue/state";
import { visibleLine } from "../text/visible";
import { words } from "../text/words/all";
import { listed, stateDot, stateWords } from "./story";

// Of the sessions in which nothing waits, so many are in the rail.
const railSize = 20;

export function Rail() {
  const all = groups.value.filter((g) => g.waiting > 0);
  const stand = sessions.value;
  const busy = new Set(all.map((g) => g.sessionId));
  const calm = listed(stand.values(), railSize).filter((s) => !busy.has(s.sessionId));
  const chosen = stand.get(selected.value);
  if (chosen && !busy.has(chosen.sessionId) && !calm.includes(chosen)) calm.push(chosen); // an old one, from a search
  const rows = [...all.map(ofGroup), ...calm.map((s): Row => ({ place: s, waiting: 0 }))];
  const names = sessionNames(rows.map(({ place }) => ({ ...place, title: stand.get(place.sessionId)?.title ?? "" })));
  return (
    <nav class="rail" data-ui="sessions" aria-label={words.desk.sessions}>
      <h2>{words.desk.sessions}</h2>
      {rows.length === 0 && <p class="quiet">{words.desk.noSessions}</p>}
      {rows.map(({ place, waiting }) => {
        const id = place.sessionId;
        const s = stand.get(id);
        const project = visibleLine(sessionName(place));
        const where = [s?.title && s.title !== project && twoEnds(project), place.repo?.branch && visibleLine(place.repo.branch)].filter(Boolean);
        return (
          <button type="button" key={id} data-session={id} aria-pressed={selected.value === id} onClick={() => (selected.value = id)}>
            <i class={`dot ${waiting > 0 && stateDot(s) !== "plan" ? "asks" : stateDot(s)}`} aria-hidden="true" />
            <span>
              <bdi class="name">{names.get(id)}</bdi>
              {where.length > 0 && (
                <small>
                  <bdi>{where[0]}</bdi>
                  {where[1] && <> · <bdi>{where[1]}</bdi></>}
                </small>
              )}
              <small>
                <AgentMark of={place} /> {s?.state ? stateWords(s) : words.feed.states.blocked_on_permission}
              </small>
            </span>{" "}
            {waiting > 0 && (
              <span class="count">
                {waiting}
                <span class="unseen"> {words.desk.waitingHere}</span>
              </span>
            )}
          </button>
        );
      })}
      <Agents />
    </nav>
  );
}

interface Place {
  agent?: string;
  sessionId: string;
  cwd?: string;
  repo?: { root?: string; branch?: string };
}

interface Row {
  place: Place;
  waiting: number;
}

function ofGroup(g: Group): Row {
  return { place: g.items[0]!.request, waiting: g.waiting };
}

/** What sessions are called: their title, else their project; with the end of their id where two
 * would be the same. */
export function sessionNames(all: readonly (Place & { title?: string })[]): Map<string, string> {
  const names = new Map(all.map((s) => [s.sessionId, s.title || visibleLine(sessionName(s))]));
  const count = new Map<string, number>();
  for (const n of names.values()) count.set(n, (count.get(n) ?? 0) + 1);
  for (const [id, n] of names) if (count.get(n)! > 1) names.set(id, `${n} …${visibleLine(id.slice(-4))}`);
  return names;
}
