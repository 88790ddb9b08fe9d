// What of a request has to be looked at, part by part: fields as the broker made them, and
// changes made of two of them. Every field is in exactly one part, but for switches that are off.
import { toolKind } from "../broker/tools";
import type { Context, Shown } from "../broker/types.gen";
import type { Line } from "./diff";
import { isLong } from "./exact";

/** One member of a tool's input, as the broker shows it. */
export type Field = Shown["fields"][number];

export type Part = FieldPart | ChangePart;

export interface FieldPart {
  kind: "field";
  name: string;
  field: Field;
  long: boolean;
}

export interface ChangePart {
  kind: "diff";
  name: string;
  prefix: string;
  was: string;
  is: string;
  /** Where it is in the file. */
  at: Context["at"] | undefined;
  /** Of a whole file, what was there. */
  before: Context["before"] | undefined;
  /** The difference: the changes with some lines around, and all that is known of the file. ended: the line feed
   * at the end is no line of it. See edits.ts. */
  made?: { lines: Line[]; all: Line[]; ended: boolean };
  long: boolean;
}

/** The parts of a request. make makes the differences, which takes a script that is not here at first;
 * without it they are made where they are shown. */
export function partsOf(tool: string, fields: readonly Field[], context?: Context, make = (p: ChangePart): ChangePart => p): Part[] {
  const parts: Part[] = [];
  const used = new Set<Field>();
  for (const f of fields) {
    if (used.has(f) || saysNothing(tool, f)) continue;
    const prefix = f.name.slice(0, -"old_string".length);
    const come = f.kind === "diff-old" && f.name.endsWith("old_string") ? fields.find((g) => g.kind === "diff-new" && g.name === `${prefix}new_string`) : undefined;
    if (come && !used.has(come)) {
      used.add(come);
      parts.push(make({ kind: "diff", name: f.name, prefix, was: f.text, is: come.text, at: prefix === "" ? context?.at : undefined, before: undefined, long: false }));
    } else if (isContent(tool, f)) {
      parts.push(make({ kind: "diff", name: f.name, prefix: "", was: context?.before?.text ?? "", is: f.text, at: { line: 1 }, before: context?.before, long: false }));
    } else {
      parts.push({ kind: "field", name: f.name, field: f, long: isLong(f.text) });
    }
  }
  return parts;
}

/** A switch of one of the agent's own tools that is off, as it is when nobody mentions it. */
function saysNothing(tool: string, f: Field): boolean {
  return f.kind === "json" && f.text === "false" && !tool.startsWith("mcp__") && /^(edits\[\d+\]\.)?(replace_all|run_in_background)$/.test(f.name);
}

function isContent(tool: string, f: Field): boolean {
  return toolKind(tool) === "write" && f.name === "content" && f.kind === "code";
}

/** Whether there is a difference to be made. */
export function hasChanges(tool: string, fields: readonly Field[]): boolean {
  return fields.some((f) => f.kind === "diff-old" || isContent(tool, f));
}

/** How many lines come and go. What stands behind the last line feed is no line. */
export function changedLines(parts: readonly Part[]): { come: number; go: number } {
  const count = (sign: "+" | "-") =>
    parts.reduce((n, p) => {
      const lines = (p.kind === "diff" ? p.made?.all ?? [] : []).filter((l) => l.sign === sign || l.sign === " ");
      const last = p.kind === "diff" && !p.made?.ended ? lines[lines.length - 1] : undefined;
      return n + lines.reduce((k, l) => k + (l.sign === sign ? l.blank || 1 : 0), 0) - (last?.sign === sign && last.text === "" ? 1 : 0);
    }, 0);
  return { come: count("+"), go: count("-") };
}
