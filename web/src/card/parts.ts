// What of a request has to be looked at, part by part: fields as the broker made them, and
// changes made of two of them. Every field is in exactly one part.
import { toolKind } from "../broker/tools";
import type { Shown } from "../broker/types.gen";
import { diffOf, type Diff } from "./diff";
import { isLong } from "./exact";

/** One member of a tool's input, as the broker shows it. */
export type Field = Shown["fields"][number];

export type Part =
  | { kind: "field"; name: string; field: Field; long: boolean }
  | { kind: "diff"; name: string; prefix: string; diff: Diff; long: boolean };

export const longDiff = 40; // lines
export const longDiffChars = 6000;

export function partsOf(tool: string, fields: readonly Field[]): Part[] {
  const parts: Part[] = [];
  const used = new Set<Field>();
  for (const f of fields) {
    if (used.has(f)) continue;
    const prefix = f.name.slice(0, -"old_string".length);
    const come = f.kind === "diff-old" && f.name.endsWith("old_string") ? fields.find((g) => g.kind === "diff-new" && g.name === `${prefix}new_string`) : undefined;
    if (come && !used.has(come)) {
      used.add(come);
      parts.push(changes(f.name, prefix, f.text, come.text));
    } else if (toolKind(tool) === "write" && f.name === "content" && f.kind === "code") {
      parts.push(changes(f.name, "", "", f.text));
    } else {
      parts.push({ kind: "field", name: f.name, field: f, long: isLong(f.text) });
    }
  }
  return parts;
}

function changes(name: string, prefix: string, before: string, after: string): Part {
  const diff = diffOf(before, after);
  return { kind: "diff", name, prefix, diff, long: diff.lines.length > longDiff || before.length + after.length > longDiffChars };
}

/** How many lines an edit changes; 0 where it is no edit. */
export function changedLines(parts: readonly Part[]): number {
  return parts.reduce((n, p) => n + (p.kind === "diff" ? p.diff.changed : 0), 0);
}
