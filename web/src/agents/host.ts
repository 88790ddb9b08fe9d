// Which host a message is signed for: the one whose name is shown, and no other.
import type { Agent } from "../broker/types.gen";
import { visibleLine } from "../text/visible";
import { laterWords } from "../text/words/later";

/** What a message to this agent is signed for: "" where its host told of none. Throws an Error where that is not the host that is shown. */
export function hostOf(agent: Pick<Agent, "hostId" | "hostname"> | undefined): string {
  const id = agent?.hostId ?? "";
  const name = id.slice(0, Math.max(0, id.lastIndexOf("#")));
  const shown = agent?.hostname ?? "";
  // Of two hosts of one name the broker shows the second one with more behind it.
  if (id && name !== shown && !shown.startsWith(`${name} (`)) throw new Error(laterWords.agents.otherHost(visibleLine(shown), visibleLine(name)));
  return id;
}
