// Whose a request or a session is: the agent's name, in its colour. It is shown once another agent than
// Claude Code is about; before that it would say nothing.
import { computed } from "@preact/signals";
import { visibleLine } from "../text/visible";
import { words } from "../text/words";
import { items, sessions } from "./state";

const others = computed(() => [...[...items.value.values()].map((i) => i.request), ...sessions.value.values()].some((r) => (r.agent ?? "claude") !== "claude"));

export function AgentMark({ of: { agent } }: { of: { agent?: string } }) {
  if (!agent || !others.value) return null;
  return (
    <i class="agent" data-ui="agent" data-agent={agent}>
      {visibleLine(words.card.agentName(agent))}
    </i>
  );
}
