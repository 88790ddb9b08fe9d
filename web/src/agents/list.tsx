// The agents that could be started, by host, and what each is doing.
import type { Agent } from "../broker/types.gen";
import { selected } from "../queue/state";
import { visibleLine } from "../text/visible";
import { laterWords } from "../text/words/later";
import { agents, starting } from "./agents";
import { money } from "./amounts";

const w = laterWords.agents;

/** Nothing where no host ever offered one. */
export function Agents() {
  return (
    <>
      {byHost(agents.value).map(([host, list]) => (
        <section key={host} data-ui="agents" aria-label={w.on(visibleLine(host))}>
          <h2>{w.on(visibleLine(host))}</h2>
          {list.map((a) => (
            <Row key={a.name} agent={a} />
          ))}
        </section>
      ))}
    </>
  );
}

function Row({ agent: a }: { agent: Agent }) {
  const open = starting.value?.agent === a.name && !selected.value;
  const cost = (a.sessions ?? []).reduce((sum, s) => sum + (s.status === "ended" ? 0 : (s.costUsd ?? 0)), 0);
  return (
    <button
      type="button"
      data-agent={a.name}
      data-state={a.status}
      aria-pressed={open}
      onClick={() => {
        selected.value = "";
        starting.value = { agent: a.name, sessionId: "" };
      }}
    >
      <i class={`dot ${a.status === "busy" ? "works" : "rests"}`} aria-hidden="true" />
      <span>
        <bdi class="name">{visibleLine(a.name)}</bdi>
        {a.project?.name && <small><bdi>{visibleLine(a.project.name)}</bdi></small>}
        <small>{[w.states[a.status ?? "offline"], cost > 0 && w.cost(money(cost))].filter(Boolean).join(" · ")}</small>
      </span>
    </button>
  );
}

/** The agents by host, both in the order of their names. */
function byHost(all: readonly Agent[]): [host: string, agents: Agent[]][] {
  const hosts = new Map<string, Agent[]>();
  for (const a of [...all].sort((a, b) => a.name.localeCompare(b.name))) {
    const host = a.hostname ?? "";
    hosts.set(host, [...(hosts.get(host) ?? []), a]);
  }
  return [...hosts].sort(([a], [b]) => a.localeCompare(b));
}
