// How the last turn of a session of a host ended, what it cost, and what can be done now: continue, or allow
// it more where its budget or its time is over.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { reason, sentence } from "../broker/http";
import type { Agent } from "../broker/types.gen";
import { visibleLine } from "../text/visible";
import { laterWords } from "../text/words/later";
import { send } from "./send";
import { money, span } from "./amounts";

const w = laterWords.lastTurn;

export type AgentSession = NonNullable<Agent["sessions"]>[number];
type Turn = NonNullable<AgentSession["turn"]>;

/** Codes that ask for more, and say why themselves. */
const overCeiling = new Set(["BUDGET", "TIMEOUT"]);
/** Codes after which the session can go on as it was. */
const cut = new Set(["INTERRUPTED", "EXIT", "API", "LOGIN", "MAX_TURNS", "LOST"]);

interface Props {
  agent: Agent;
  session: AgentSession;
}

/** What the session has used, and how its last turn ended, if none runs. may: this device can send to it. */
export function Outcome({ agent, session: s, may }: Props & { may: boolean }) {
  const turn = s.status === "busy" ? undefined : s.turn;
  if (!turn && !s.costUsd && !s.activeSeconds && !s.pr) return null; // that it has a work tree alone is no outcome
  return (
    <section class="last-turn" data-ui="last-turn" data-state={turn?.outcome ?? s.status} aria-label={w.label}>
      {turn && <Ended turn={turn} />}
      {used(s) && <p class="quiet used">{used(s)}</p>}
      {s.pr?.url && <PullRequest url={s.pr.url} number={s.pr.number} verified={s.pr.verified === true} />}
      {turn && may && agent.status !== "offline" && <Next key={`${turn.message} ${s.status} ${turn.code} ${s.budgetUsd} ${s.timeoutSeconds}`} agent={agent} session={s} turn={turn} />}
    </section>
  );
}

function Ended({ turn }: { turn: Turn }) {
  const head = turn.outcome === "completed" ? w.completed : (turn.says ?? w.failed);
  return (
    <>
      <h3>{head}</h3>
      {turn.outcome !== "completed" && turn.why && turn.why !== turn.outcome && !overCeiling.has(turn.code ?? "") && <p>{sentence(new Error(turn.why))}</p>}
    </>
  );
}

/** What it has used of what it may use. */
function used(s: AgentSession): string {
  const { costUsd: cost = 0, activeSeconds: worked = 0 } = s;
  return [
    cost > 0 && (s.budgetUsd ? w.costOf(money(cost), money(s.budgetUsd)) : w.cost(money(cost))),
    worked > 0 && s.timeoutSeconds ? w.timeOf(span(worked), span(s.timeoutSeconds)) : "",
    s.worktree ? w.worktree : "",
  ]
    .filter(Boolean)
    .join(" · ");
}

/** A pull request is a link only where it is one to the web, by TLS. */
function PullRequest({ url, number, verified }: { url: string; number: number | undefined; verified: boolean }) {
  const to = URL.canParse(url) ? new URL(url) : undefined;
  if (to?.protocol !== "https:") return <p>{w.prText(visibleLine(url))}</p>;
  return (
    <p>
      <a href={to.href} target="_blank" rel="noopener noreferrer" data-action="pull-request">
        {w.pr(number ? String(number) : "", to.host)}
      </a>
      {!verified && <small> {w.prUnverified}</small>}
    </p>
  );
}

function Next({ agent, session: s, turn }: Props & { turn: Turn }) {
  const budget = agent.limits?.budgetUsd ?? 0;
  const timeout = agent.limits?.timeoutSeconds ?? 0;
  if (turn.code === "BUDGET") {
    const now = s.budgetUsd ?? 0;
    return (
      <More
        {...{ agent, session: s, now, ceiling: budget, unit: 1, step: 0.01 }}
        ask={(more) => w.budgetMore(money(s.costUsd ?? 0), money(now), money(more))}
        none={w.budgetNone(money(budget), visibleLine(agent.hostname ?? ""))}
        label={w.budgetLabel(money(budget - now))}
        options={(total) => ({ budgetUsd: total })}
      />
    );
  }
  if (turn.code === "TIMEOUT") {
    const now = s.timeoutSeconds ?? 0;
    return (
      <More
        {...{ agent, session: s, now, ceiling: timeout, unit: 60, step: 1 }}
        ask={(more) => w.timeMore(span(s.activeSeconds ?? 0), span(now), span(more))}
        none={w.timeNone(span(timeout), visibleLine(agent.hostname ?? ""))}
        label={w.timeLabel(span(timeout - now))}
        options={(total) => ({ timeoutSeconds: total })}
      />
    );
  }
  if (!cut.has(turn.code ?? "")) return null;
  return (
    <Resume agent={agent} session={s} label={w.goOn}>
      {turn.code === "LOST" && <p class="quiet">{w.lostHint}</p>}
    </Resume>
  );
}

interface MoreProps extends Props {
  now: number;
  ceiling: number;
  /** What one of the field stands for, and its step. */
  unit: number;
  step: number;
  ask(more: number): string;
  none: string;
  label: string;
  options(total: number): { budgetUsd?: number; timeoutSeconds?: number };
}

/** Asks for more of what is used up, within what the host's owner allows. */
function More({ agent, session, now, ceiling, unit, step, ask, none, label, options }: MoreProps) {
  const most = Math.floor((ceiling - now) / unit / step + 1e-6) * step;
  const [value, setValue] = useState(() => String(Number(Math.min(most, Math.max(step, now / unit)).toFixed(2))));
  const more = Number(value);
  const fits = more >= step && more <= most + 1e-9;
  if (most < step) return <p>{none}</p>;
  return (
    <Resume agent={agent} session={session} label={w.allow} disabled={!fits} options={options(Number((now + more * unit).toFixed(2)))}>
      <p class="ask">{ask(fits ? more * unit : 0)}</p>
      <label>
        {label} <input type="number" inputMode="decimal" min={step} step={step} max={most} value={value} onInput={(e) => setValue(e.currentTarget.value)} />
      </label>
    </Resume>
  );
}

/** Has the session go on, signed as any message is. */
function Resume({ agent, session: s, label, options, disabled, children }: Props & { label: string; options?: { budgetUsd?: number; timeoutSeconds?: number }; disabled?: boolean; children?: ComponentChildren }) {
  const [state, setState] = useState<"" | "busy" | "sent">("");
  const [trouble, setTrouble] = useState("");
  const go = async () => {
    if (state || disabled) return;
    setState("busy");
    setTrouble("");
    try {
      await send({ host: true, agent: agent.name, sessionId: s.sessionId, kind: kindFor(s), prompt: w.goOnPrompt, ...(options ? { options } : {}) });
      setState("sent");
    } catch (e) {
      setTrouble(w.notSent(reason(e)));
      setState("");
    }
  };
  return (
    <form
      onSubmit={(e) => {
        e.preventDefault();
        void go();
      }}
    >
      {children}
      {trouble && (
        <p class="notice" role="alert">
          {trouble}
        </p>
      )}
      <p class="act">
        <span role="status">{state === "sent" ? w.sent : ""}</span>
        <button type="submit" class="allow" data-action="go-on" disabled={state !== "" || disabled}>
          {state === "busy" ? w.sending : label}
        </button>
      </p>
    </form>
  );
}

/** Of what kind a text to the session is: one with a process takes it as its next prompt. */
export function kindFor(s: AgentSession): "prompt" | "resume" {
  return s.status === "blocked" || s.status === "ended" ? "resume" : "prompt";
}
