// Starting a session of an agent: what it is to do, and what it may cost.
import { useEffect, useState } from "preact/hooks";
import { reason } from "../broker/http";
import type { Agent } from "../broker/types.gen";
import { ownDevice } from "../device/session";
import { selected, sessions } from "../queue/state";
import { visibleLine } from "../text/visible";
import { laterWords } from "../text/words/later";
import { One, useMessages } from "../story/composer";
import { messages } from "../story/messages";
import { agents, starting } from "./agents";
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
  if (!start) return null;
  return (
    <section class="say start" data-ui="start-agent" aria-label={w.start}>
      <h2>{w.head(visibleLine(start.agent))}</h2>
      {!agent ? <p class="quiet">{w.gone}</p> : id ? <Sent session={id} /> : <Form key={agent.name} agent={agent} />}
    </section>
  );
}

function Form({ agent }: { agent: Agent }) {
  const ceiling = agent.limits?.budgetUsd ?? 0;
  const [prompt, setPrompt] = useState("");
  const [budget, setBudget] = useState(ceiling ? String(ceiling) : "");
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState("");
  const role = ownDevice()?.role;
  if (role !== "operate" && role !== "admin") return <p class="quiet">{w.notAllowed}</p>;
  if (agent.status === "offline") return <p class="quiet">{w.offline(visibleLine(agent.hostname ?? ""))}</p>;
  const go = async () => {
    if (busy || prompt.trim() === "") return;
    setBusy(true);
    setTrouble("");
    const sessionId = crypto.randomUUID();
    try {
      await send({ host: true, agent: agent.name, sessionId, kind: "prompt", prompt, options: budget ? { budgetUsd: Number(budget) } : {} });
      starting.value = { agent: agent.name, sessionId };
    } catch (e) {
      setTrouble(w.failed(reason(e)));
      setBusy(false);
    }
  };
  return (
    <form
      onSubmit={(e) => {
        e.preventDefault();
        void go();
      }}
    >
      <p class="quiet">{w.where(visibleLine(agent.project?.path ?? agent.project?.name ?? ""), visibleLine(agent.hostname ?? ""))}</p>
      <textarea aria-label={w.prompt} placeholder={w.prompt} rows={4} maxLength={65536} dir="auto" value={prompt} onInput={(e) => setPrompt(e.currentTarget.value)} />
      <label>
        {ceiling > 0 ? w.budgetBelow(String(ceiling)) : w.budget}{" "}
        <input type="number" inputMode="decimal" min="0.01" step="0.01" max={ceiling || undefined} value={budget} onInput={(e) => setBudget(e.currentTarget.value)} />
      </label>
      {trouble && (
        <p class="notice" role="alert">
          {trouble}
        </p>
      )}
      <div class="act">
        <button type="button" class="small" data-action="not-now" onClick={() => (starting.value = undefined)}>
          {w.cancel}
        </button>
        <button type="submit" class="allow" data-action="start-agent" disabled={busy || prompt.trim() === ""}>
          {busy ? w.starting : w.start}
        </button>
      </div>
    </form>
  );
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
