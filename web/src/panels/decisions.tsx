// What was decided, by whom, with filters. Newest first, a page at a time; what is decided
// meanwhile is announced and shown on demand, so that nothing moves under a finger.
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { listDecisions, type DecisionFilter } from "../broker/api";
import { now } from "../broker/clock";
import { sentence } from "../broker/http";
import type { Settled } from "../broker/types.gen";
import { projectName } from "../queue/model";
import { recent, selected, sessions } from "../queue/state";
import { visibleLine } from "../text/visible";
import { words } from "../text/words/all";
import { Decided } from "./decided";
import { whoIs } from "./who";

const page = 50;
const typing = 300; // ms

interface Filter extends Omit<DecisionFilter, "since"> {
  time?: keyof typeof spans;
}

const spans: Readonly<Record<string, number>> = { day: 1, week: 7, month: 30 }; // days

const filter = signal<Filter>({});

function set(change: Partial<Record<keyof Filter, string>>): void {
  const next: Record<string, string> = { ...(filter.value as Record<string, string>), ...change };
  for (const [name, value] of Object.entries(next)) if (!value) delete next[name];
  filter.value = next;
}

function query(f: Filter, session: string): DecisionFilter {
  const { time, ...rest } = f;
  const days = time ? spans[time] : undefined;
  return { ...rest, ...(session ? { session } : {}), ...(days ? { since: new Date(now.peek() - days * 86_400_000).toISOString() } : {}) };
}

export function Decisions() {
  const f = filter.value;
  const session = selected.value;
  const [list, setList] = useState<readonly Settled[]>();
  const [end, setEnd] = useState(false);
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const asked = useRef(0);
  const newest = useRef<string | undefined>(undefined);
  const load = (after?: Settled) => {
    const mine = ++asked.current;
    setBusy(true);
    setError("");
    if (!after) newest.current = recent.peek()[0]?.request.id ?? "";
    listDecisions(query(f, session), page, after?.id).then(
      (got) => {
        if (mine !== asked.current) return;
        setList((old) => (after ? [...(old ?? []), ...got] : got));
        setEnd(got.length < page);
        setBusy(false);
      },
      (e: unknown) => {
        if (mine !== asked.current) return;
        setError(sentence(e));
        setBusy(false);
      },
    );
  };
  useEffect(() => {
    setList(undefined);
    const timer = setTimeout(() => load(), f.q ? typing : 0);
    return () => clearTimeout(timer);
  }, [f, session]);
  const fresh = newest.current === undefined ? 0 : Math.max(0, newest.current === "" ? recent.value.length : recent.value.findIndex((i) => i.request.id === newest.current));
  const filtered = Object.keys(f).length > 0 || session !== "";
  return (
    <section class="panel history" data-ui="history" aria-labelledby="history" aria-busy={busy}>
      <h2 id="history">{words.history.head}</h2>
      <Filters />
      {fresh > 0 && list && (
        <button type="button" class="more" onClick={() => load()}>
          {words.history.news(fresh)}
        </button>
      )}
      {error && (
        <p class="notice" role="alert">
          {error}{" "}
          <button type="button" class="link" onClick={() => load()}>
            {words.tryAgain}
          </button>
        </p>
      )}
      {!list && !error && <p class="quiet">{words.history.fetching}</p>}
      {list?.length === 0 && <p class="quiet">{filtered ? words.history.nothing : words.history.nothingYet}</p>}
      <ul class="rows">
        {list?.map((d, i) => (
          <Decided key={d.id} d={d} before={list[i - 1]} only={set} />
        ))}
      </ul>
      {list && list.length > 0 && !end && (
        <button type="button" class="more" disabled={busy} onClick={() => load(list[list.length - 1])}>
          {words.history.more}
        </button>
      )}
    </section>
  );
}

function Filters() {
  const f = filter.value;
  const session = selected.value;
  const pick = (name: keyof Filter, label: string, any: string, choices: Readonly<Record<string, string>>) => (
    <select aria-label={label} value={f[name] ?? ""} onChange={(e) => set({ [name]: e.currentTarget.value })}>
      <option value="">{any}</option>
      {Object.entries(choices).map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  );
  const { all, ...times } = words.history.times;
  const chips: [string, () => void][] = [];
  if (session) chips.push([sessions.value.get(session)?.title || words.history.thisSession, () => (selected.value = "")]);
  for (const name of ["tool", "repo", "by"] as const) if (f[name]) chips.push([name === "repo" ? visibleLine(projectName(f[name])) : name === "by" && f[name]!.startsWith("rule ") ? whoIs({ kind: "rule", name: f[name]! }) : visibleLine(f[name]!), () => set({ [name]: "" })]);
  return (
    <search class="filters" data-ui="filters">
      <input
        type="search"
        aria-label={words.history.search}
        placeholder={words.history.search}
        maxLength={200}
        value={f.q ?? ""}
        onInput={(e) => set({ q: e.currentTarget.value })}
      />
      {pick("outcome", words.history.outcome, words.history.any, words.history.outcomes)}
      {pick("kind", words.history.who, words.history.anybody, words.history.kinds)}
      {pick("time", words.history.since, all ?? "", times)}
      {chips.map(([text, remove]) => (
        <button type="button" class="chip-off" key={text} aria-label={words.history.without(text)} onClick={remove}>
          {words.history.only(text)} <span aria-hidden="true">×</span>
        </button>
      ))}
    </search>
  );
}
