// What the agent's tools do, as far as the page treats their requests differently. The API has a
// request's tool by its name only; everywhere else the page asks for the kind.

type ToolKind = "command" | "write" | "fetch" | "question" | "plan";

const kinds: ReadonlyMap<string, ToolKind> = new Map<string, ToolKind>([
  ["Bash", "command"],
  ["Write", "write"],
  ["WebFetch", "fetch"],
  ["AskUserQuestion", "question"],
  ["ExitPlanMode", "plan"],
]);

/** Whether a plain yes is no answer to its calls: a person has to say more. */
export function needsAnswer(name: string): boolean {
  const kind = kinds.get(name);
  return kind === "question" || kind === "plan";
}

export function toolKind(name: string | undefined): ToolKind | undefined {
  return kinds.get(name ?? "");
}
