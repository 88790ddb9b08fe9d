// The page: a rail of sessions, the queue, and what was settled lately.
import { effect } from "@preact/signals";
import { useState } from "preact/hooks";
import { Card } from "./card";
import { DevicesButton } from "./devices";
import { Door, NotFound } from "./door";
import { sessionName, shownOf, type Group } from "./model";
import { Search, Story } from "./feedview";
import { Past } from "./past";
import { announcement, groups, known, link, linkTrouble, overruled, recent, ruleTrouble, selected, sessions, standing, waiting } from "./state";
import { listed, stateWords } from "./story";
import { visibleLine } from "./visible";

effect(() => {
  document.title = waiting.value ? `(${waiting.value}) assent` : "assent";
});

export function App() {
  return (
    <>
      <header class="top">
        <h1>assent</h1>
        {standing.value === "in" && (
          <>
            <Connection />
            <DevicesButton />
          </>
        )}
      </header>
      <div class="unseen" role="log" aria-live="polite">
        {announcement.value}
      </div>
      {standing.value === "in" ? <Desk /> : <Door />}
    </>
  );
}

function Connection() {
  const l = link.value;
  const text = { live: "Live", connecting: "Connecting…", waiting: "No connection; trying again", offline: "This device is offline" }[l];
  return (
    <span class={`link-state ${l}`} role="status">
      {text}
      {linkTrouble.value && `: ${visibleLine(linkTrouble.value)}`}
    </span>
  );
}

function Desk() {
  const all = groups.value;
  const some = selected.value ? all.filter((g) => g.sessionId === selected.value) : all;
  return (
    <div class={selected.value ? "desk reading" : "desk"}>
      <Rail all={all} />
      <main tabIndex={-1}>
        <BrokenRules />
        <Overruled />
        <Queue groups={some} />
      </main>
      <aside class="feed" aria-label={selected.value ? "What happened" : "Settled lately"}>
        <Search />
        {selected.value ? <Story /> : <Settled />}
      </aside>
    </div>
  );
}

function Settled() {
  return (
    <>
        <h2>Settled lately</h2>
        {recent.value.length === 0 ? (
          <p class="quiet">What is answered while this page is open shows up here.</p>
        ) : (
          <ul>
            {recent.value.map((i) => (
              <Past key={i.request.id} item={i} />
            ))}
          </ul>
        )}
    </>
  );
}

// Of the sessions in which nothing waits, so many are in the rail.
const railSize = 20;
const railOver = 5;

function Rail({ all }: { all: Group[] }) {
  const total = waiting.value;
  const stand = sessions.value;
  const busy = new Set(all.map((g) => g.sessionId));
  const calm = listed(stand.values(), railSize, railOver).filter((s) => !busy.has(s.sessionId));
  const chosen = stand.get(selected.value);
  if (chosen && !busy.has(chosen.sessionId) && !calm.includes(chosen)) calm.push(chosen); // an old one, from a search
  const names = sessionNames([...all.map((g) => g.items[0]!.request), ...calm]);
  return (
    <nav class="rail" aria-label="Sessions">
      <h2>Sessions</h2>
      <button type="button" aria-pressed={selected.value === ""} onClick={() => (selected.value = "")}>
        <span>All</span> <span class="count">{total}</span>
      </button>
      {[...all.map((g) => ({ id: g.sessionId, branch: g.items[0]!.request.repo?.branch, waiting: g.waiting })), ...calm.map((s) => ({ id: s.sessionId, branch: s.repo?.branch, waiting: 0 }))].map((p) => {
        const { state, title } = stand.get(p.id) ?? {};
        return (
          <button type="button" key={p.id} data-session={p.id} aria-pressed={selected.value === p.id} onClick={() => (selected.value = p.id)}>
            <span>
              {state && <i class={`dot ${state}`} aria-hidden="true" />}
              {names.get(p.id)}
              {title && !names.get(p.id)?.startsWith(title) && <small class="about">{title}</small>}
              {(p.branch || state) && <small>{[p.branch && visibleLine(p.branch), state && stateWords(state)].filter(Boolean).join(" · ")}</small>}
            </span>{" "}
            {p.waiting > 0 && <span class="count">{p.waiting}</span>}
          </button>
        );
      })}
    </nav>
  );
}

/** Names of sessions, told apart by their ids where two are the same. */
function sessionNames(all: Parameters<typeof sessionName>[0][]): Map<string, string> {
  const names = new Map(all.map((s) => [s.sessionId, visibleLine(sessionName(s))]));
  const count = new Map<string, number>();
  for (const n of names.values()) count.set(n, (count.get(n) ?? 0) + 1);
  for (const [id, n] of names) if (count.get(n)! > 1) names.set(id, `${n} …${visibleLine(id.slice(-4))}`);
  return names;
}

const page = 30;

function Queue({ groups: some }: { groups: Group[] }) {
  const [limit, setLimit] = useState(page);
  if (!known.value) return <p class="quiet">Asking the broker what waits…</p>;
  if (some.length === 0) return selected.value ? <p class="quiet">Nothing waits in this session.</p> : <Empty />;
  const names = sessionNames(groups.value.map((g) => g.items[0]!.request));
  let left = limit;
  const total = some.reduce((n, g) => n + g.items.length, 0);
  return (
    <>
      {some.map((g) => {
        const cards = g.items.slice(0, Math.max(0, left));
        left -= cards.length;
        if (cards.length === 0) return null;
        return (
          <section class="group" key={g.sessionId} aria-label={names.get(g.sessionId)!}>
            <h2>
              {names.get(g.sessionId)} <span class="count">{g.waiting === 0 ? "none waiting" : `${g.waiting} waiting`}</span>
            </h2>
            {cards.map((i) => (
              <Card key={i.request.id} item={i} />
            ))}
          </section>
        );
      })}
      {total > limit && (
        <button type="button" class="more" onClick={() => setLimit(limit + page)}>
          {total - limit} more wait · show the next
        </button>
      )}
    </>
  );
}

function Empty() {
  return (
    <div class="empty">
      <h2>Nothing waits for you</h2>
      <p>When an agent asks for permission, it shows up here by itself. This page can stay open.</p>
      <p>An agent is at work, and nothing comes? On the machine where assent runs:</p>
      <ul>
        <li>
          <code>assent doctor</code> says what is missing.
        </li>
        <li>
          <code>assent simulate</code> raises a sample request, without an agent.
        </li>
      </ul>
      <NotFound />
    </div>
  );
}

const mostProblems = 5;

/** Says that a file of rules is broken, as long as it is. */
function BrokenRules() {
  const trouble = ruleTrouble.value;
  if (!trouble) return null;
  const { problems, allowing } = trouble;
  return (
    <div class="rules-broken" role="alert">
      <p>
        <b>{allowing ? "A file of rules cannot be used as it is now." : "The rules cannot be used: no rule allows anything."}</b>{" "}
        {allowing ? "What it said before is still in force." : "Every request waits for you, unless a rule denies it."}
      </p>
      <ul>
        {problems.slice(0, mostProblems).map((p, i) => (
          <li key={i}>
            <code>
              {visibleLine(p.file)}
              {p.line ? `:${p.line}${p.column ? `:${p.column}` : ""}` : ""}
            </code>{" "}
            {visibleLine(p.message)}
          </li>
        ))}
        {problems.length > mostProblems && <li>and {problems.length - mostProblems} more</li>}
      </ul>
    </div>
  );
}

function Overruled() {
  return (
    <div class="alarms">
      {overruled.value.map((i) => (
        <div class="overruled" role="alert" key={i.request.id}>
          <p>
            <b>Overruled in the terminal.</b> {shownOf(i)?.verb ?? visibleLine(i.request.toolName)} in {visibleLine(sessionName(i.request))} was denied here and has run all the same.
          </p>
          <button type="button" onClick={() => (overruled.value = overruled.value.filter((o) => o !== i))}>
            Seen
          </button>
        </div>
      ))}
    </div>
  );
}
