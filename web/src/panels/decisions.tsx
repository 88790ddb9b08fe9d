// What was decided, by whom, with filters. Newest first, a page at a time; what is decided
// meanwhile is announced and shown on demand, so that nothing moves under a finger.
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { getRequest, listDecisions, type DecisionFilter } from "../broker/api";
import { now } from "../broker/clock";
import { reason, sentence } from "../broker/http";
import type { Settled } from "../broker/types.gen";
import { Parts } from "../card/fields";
import { partsOf } from "../card/parts";
import { Said } from "../card/said";
import { agoWords, isRequest, lastElement, since, type Request } from "../queue/model";
import { recent, selected, sessions } from "../queue/state";
import { visibleLine } from "../text/visible";
import { words } from "../text/words";

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
        {list?.map((d) => (
          <Decided key={d.id} d={d} />
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
  for (const name of ["tool", "repo", "by"] as const) if (f[name]) chips.push([name === "repo" ? visibleLine(lastElement(f[name])) : name === "by" && f[name]!.startsWith("rule ") ? whoIs({ kind: "rule", name: f[name]! }) : visibleLine(f[name]!), () => set({ [name]: "" })]);
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

/** Who decided, in short: of a rule without its file. */
function whoIs(by: NonNullable<Settled["by"]>): string {
  if (by.kind === "owner-cli") return words.outcome.ownerCli;
  const rule = by.kind === "rule" && /^rule "(.*)"( in .*)?$/s.exec(by.name);
  return rule ? words.history.rule(visibleLine(rule[1]!)) : visibleLine(by.name);
}

const tones: Readonly<Record<string, string>> = { allowed: "good", denied: "bad" };

function Decided({ d }: { d: Settled }) {
  const [whole, setWhole] = useState<Request>();
  const [error, setError] = useState("");
  const at = new Date(d.settledAt);
  const took = Date.parse(d.settledAt) - Date.parse(d.createdAt);
  const who = d.by ? whoIs(d.by) : "";
  const why = d.reason ? (d.unattended && /^(tool_ran|hangup|turn_ended)$/.test(d.reason) ? words.history.unattended : words.history.reasons[d.reason] ?? visibleLine(d.reason)) : "";
  const show = () => {
    setError("");
    getRequest(d.id).then(
      (r) => isRequest(r) && setWhole(r),
      (e: unknown) => setError(reason(e)),
    );
  };
  return (
    <li class={`decided ${d.delivery === "overruled" ? "loud" : d.failed ? "bad" : (tones[d.outcome] ?? "gone")}`} data-ui="decision" data-state={d.failed ? "bad" : tones[d.outcome]}>
      <div class="where">
        <b>
          {words.history.outcomes[d.outcome]}
          {d.edited && words.history.edited}
        </b>
        {who && d.by?.kind !== "owner-cli" ? (
          <button type="button" class="link" title={words.history.filter(visibleLine(d.by?.name ?? ""))} onClick={() => set({ by: d.by?.name ?? "" })}>
            {who}
          </button>
        ) : (
          <span>{who || why}</span>
        )}
        <span>{took < 3000 ? words.history.atOnce : words.history.took(since(took))}</span>
        {d.delivery === "overruled" && <b>{d.outcome === "allowed" ? words.history.overruledEdit : words.history.overruled}</b>}
        <time class="age" dateTime={d.settledAt} title={at.toLocaleString()}>
          {agoWords(now.value - at.getTime())}
        </time>
      </div>
      <div class="summary" data-ui="summary">
        <button type="button" class="link tool" title={words.history.filter(visibleLine(d.toolName))} onClick={() => set({ tool: d.toolName })}>
          {visibleLine(d.toolName)}
        </button>{" "}
        <span>{d.summary}</span>
      </div>
      {d.asked && d.asked !== d.summary && <p class="told">{words.history.asked(d.asked)}</p>}
      {d.answers && <p class="told">{words.history.answers(d.answers)}</p>}
      {d.failed && <p class="told">{words.outcome.ranFailed(d.failure ?? "")}</p>}
      {d.message && <p class="told">{words.history.told(visibleLine(d.message))}</p>}
      <div class="where">
        {d.repo && (
          <button type="button" class="link" title={words.history.filter(visibleLine(d.repo))} onClick={() => set({ repo: d.repo ?? "" })}>
            {visibleLine(lastElement(d.repo))}
          </button>
        )}
        {d.sessionTitle && d.sessionTitle !== lastElement(d.repo) && <span>{d.sessionTitle}</span>}
        {!whole && (
          <button type="button" class="link" onClick={show}>
            {words.history.whole}
          </button>
        )}
      </div>
      {error && (
        <p class="notice" role="alert">
          {words.card.notFetched(error)}
        </p>
      )}
      {whole && <Whole request={whole} />}
    </li>
  );
}

/** What was allowed, else what was asked for, and what was said beside it. */
function Whole({ request }: { request: Request }) {
  const { units, doubts, ...edited } = request; // which are of what was asked for
  const shown = request.allowed?.shown;
  return (
    <>
      <Said item={{ request, endedAt: 1 }} />
      <Parts request={shown ? edited : request} parts={partsOf(request.toolName, (shown ?? request.shown)?.fields ?? [])} opened={everything} open={() => undefined} />
    </>
  );
}

/** All fields are shown whole: nobody decides by them any more. */
const everything: ReadonlySet<string> = new (class extends Set<string> {
  override has(): boolean {
    return true;
  }
})();
