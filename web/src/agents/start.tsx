// Starting a session of an agent: what it is to do, and what it may cost.
import { useEffect, useRef, useState } from "preact/hooks";
import { reason } from "../broker/http";
import type { Agent } from "../broker/types.gen";
import { ownDevice } from "../device/session";
import { selected, sessions } from "../queue/state";
import { useClosing } from "../panels/closing";
import { Rich } from "../text/rich";
import { visibleLine } from "../text/visible";
import { laterWords } from "../text/words/later";
import { One, useMessages } from "../story/composer";
import { messages } from "../story/messages";
import { agents, starting } from "./agents";
import { money, span } from "./amounts";
import { send } from "./send";

const w = laterWords.agents;

export function StartAgent() {
  const start = starting.value;
  const agent = agents.value.find((a) => a.name === start?.agent);
  const id = start?.sessionId ?? "";
  const here = id !== "" && sessions.value.has(id);
  useEffect(() => {
    if (!here) return; // its first hook told of it: from now on its feed is shown
    starting.value = undefined;
    selected.value = id;
  }, [here, id]);
  return start ? <Sheet key={start.agent} name={start.agent} agent={agent} id={id} /> : null;
}

/** It takes the focus, and gives it back to the agent in the list. Escape closes it while nothing is written in it. */
function Sheet({ name, agent, id }: { name: string; agent: Agent | undefined; id: string }) {
  const sheet = useRef<HTMLElement>(null);
  const head = useRef<HTMLHeadingElement>(null);
  useEffect(() => head.current?.focus({ preventScroll: true }), []);
  const close = () => {
    if (!sheet.current?.querySelector("textarea")?.value.trim()) starting.value = undefined;
  };
  useClosing(sheet, close, `[data-agent="${CSS.escape(name)}"]`, ".sessions");
  return (
    <section class="say start" data-ui="start-agent" aria-label={w.start} ref={sheet}>
      <h2 ref={head} tabIndex={-1}>{w.head(visibleLine(name))}</h2>
      {!agent ? <p class="quiet">{w.gone}</p> : id ? <Sent session={id} /> : <Form key={agent.name} agent={agent} />}
    </section>
  );
}

function Form({ agent }: { agent: Agent }) {
  const { budgetUsd: ceiling = 0, timeoutSeconds: longest = 0, autoPr: mayPr = false } = agent.limits ?? {};
  const [prompt, setPrompt] = useState("");
  const [budget, setBudget] = useState(ceiling ? String(ceiling) : "");
  const [minutes, setMinutes] = useState(longest ? String(longest / 60) : "");
  const [autoPr, setAutoPr] = useState(false);
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState("");
  const no = cannot(agent);
  if (no) return <p class="quiet"><Rich text={no} put={{ host: visibleLine(agent.hostname ?? "") }} /></p>;
  const over = outside(budget, 0.01, ceiling) ? w.budgetOver(ceiling ? money(ceiling) : "") : outside(minutes, 1, longest / 60) ? w.timeOver(longest ? span(longest) : "") : "";
  const ready = prompt.trim() !== "" && !over;
  const go = async () => {
    if (busy || !ready) return;
    setBusy(true);
    setTrouble("");
    const sessionId = crypto.randomUUID();
    const options = { ...(budget ? { budgetUsd: Number(budget) } : {}), ...(minutes ? { timeoutSeconds: Math.round(Number(minutes) * 60) } : {}), ...(autoPr ? { autoPr } : {}) };
    try {
      await send({ host: true, agent: agent.name, sessionId, kind: "prompt", prompt, options });
      starting.value = { agent: agent.name, sessionId };
    } catch (e) {
      setTrouble(w.failed(reason(e)));
      setBusy(false);
    }
  };
  return (
    <form
      noValidate
      onSubmit={(e) => {
        e.preventDefault();
        void go();
      }}
    >
      <p class="quiet">{w.where(visibleLine(agent.project?.path ?? agent.project?.name ?? ""), visibleLine(agent.hostname ?? ""))}{agent.worktree && ` ${w.worktree}`}</p>
      <textarea aria-label={w.prompt} placeholder={w.prompt} rows={4} maxLength={65536} dir="auto" value={prompt} onInput={(e) => setPrompt(e.currentTarget.value)} />
      <div class="bounds">
        <label>
          <span>
            {w.budget} {ceiling > 0 && <small>{w.most(money(ceiling))}</small>}
          </span>
          <input type="number" name="budget" inputMode="decimal" min="0.01" step="0.01" max={ceiling || undefined} value={budget} onInput={(e) => setBudget(e.currentTarget.value)} />
        </label>
        <label>
          <span>
            {w.minutes} {longest > 0 && <small>{w.most(String(longest / 60))}</small>}
          </span>
          <input type="number" name="minutes" inputMode="numeric" min="1" step="1" max={longest / 60 || undefined} value={minutes} onInput={(e) => setMinutes(e.currentTarget.value)} />
        </label>
      </div>
      {mayPr && (
        <label class="tick">
          <input type="checkbox" checked={autoPr} onChange={(e) => setAutoPr(e.currentTarget.checked)} /> {w.autoPr}
        </label>
      )}
      {over && (
        <p class="quiet over" role="status">
          {over}
        </p>
      )}
      {trouble && (
        <p class="notice" role="alert">
          {trouble}
        </p>
      )}
      <div class="act">
        <button type="button" class="small" data-action="not-now" onClick={() => (starting.value = undefined)}>
          {w.cancel}
        </button>
        <button type="submit" class="allow" data-action="start-agent" disabled={busy || !ready}>
          {busy ? w.starting : w.start}
        </button>
      </div>
    </form>
  );
}

/** Why no session of an agent can be started from here now, "" if one can. */
function cannot(agent: Agent): string {
  const role = ownDevice()?.role;
  if (role !== "operate" && role !== "admin") return w.notAllowed;
  if (agent.status === "offline") return w.offline;
  const most = agent.limits?.sessions ?? 0;
  const work = (agent.sessions ?? []).filter((s) => s.status === "busy").length;
  return most > 0 && work >= most ? w.full(most) : "";
}

/** Whether a field says something that is not between two bounds; most 0: there is none. */
function outside(value: string, least: number, most: number): boolean {
  const n = Number(value);
  return value !== "" && (!(n >= least) || (most > 0 && n > most));
}

/** What became of the start, until the session tells of itself. */
function Sent({ session }: { session: string }) {
  useMessages(session);
  return (
    <>
      <ol class="sent" aria-live="polite">
        {messages.value
          .filter((m) => m.sessionId === session)
          .map((m) => (
            <One key={m.id} message={m} />
          ))}
      </ol>
      <div class="act">
        <button type="button" class="small" data-action="not-now" onClick={() => (starting.value = undefined)}>
          {w.close}
        </button>
      </div>
    </>
  );
}
