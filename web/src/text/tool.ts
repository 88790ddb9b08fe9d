// What a person calls an agent's tool.
import { toolKind } from "../broker/tools";
import { visibleLine } from "./visible";
import { words } from "./words/all";

/** The tool's own name, but for those whose calls a person knows as something else. */
export function toolLabel(name: string): string {
  return words.history.tools[name === "Elicitation" ? "form" : (toolKind(name) ?? "")] ?? visibleLine(name);
}
