import type { Settled } from "../broker/types.gen";
import { visibleLine } from "../text/visible";
import { words } from "../text/words/all";

/** Who decided, in short: of a rule without its file. */
export function whoIs(by: NonNullable<Settled["by"]>): string {
  if (by.kind === "owner-cli") return words.history.fromTerminal;
  const rule = by.kind === "rule" && /^rule "(.*)"( in .*)?$/s.exec(by.name);
  return rule ? words.history.rule(visibleLine(rule[1]!)) : visibleLine(by.name);
}
