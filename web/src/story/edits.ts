// What the calls of a session did to files, from what ran: the tool's own account of it where it
// gives one, else its input. Plain values; all texts are made visible here.
import { toolKind } from "../broker/tools";
import { diffOf, type Diff } from "../card/diff";
import { visibleLine, visibleText } from "../text/visible";
import type { Call } from "./transcript";

/** What a call did to a file: the texts that went and came, place by place, as they came. */
export interface Change {
  path: string;
  pairs: readonly (readonly [before: string, after: string])[];
  /** Only what was written is known, not what it replaced. */
  blind: boolean;
}

/** One call's change to a file. */
export interface Edit {
  id: string; // of the call
  pos: number;
  change: Change;
}

export interface ChangedFile {
  path: string; // safe to show
  edits: Edit[];
}

type Members = Readonly<Record<string, unknown>>;

function members(v: unknown): Members {
  return typeof v === "object" && v !== null ? (v as Members) : {};
}

const text = (v: unknown) => (typeof v === "string" ? v : undefined);
const list = (v: unknown): readonly unknown[] => (Array.isArray(v) ? v : []);

/** What a call changes, undefined where it changes no file or nobody can tell. */
export function changeOf(call: Call): Change | undefined {
  const input = members(call.input);
  const response = members(call.response);
  const path = text(input["file_path"]) ?? text(input["notebook_path"]);
  if (!path) return undefined;
  const hunks = list(response["structuredPatch"]).map(hunk);
  if (hunks.length > 0 && hunks.every((h) => h !== undefined)) return { path, pairs: hunks, blind: false };
  const pairs = ("edits" in input ? list(input["edits"]).map(members) : [input]).map((m) => [text(m["old_string"]), text(m["new_string"])] as const);
  if (pairs.length > 0 && pairs.every((p): p is readonly [string, string] => p[0] !== undefined && p[1] !== undefined)) return { path, pairs, blind: false };
  const written = toolKind(call.name) === "write" ? text(input["content"]) : text(input["new_source"]);
  return written === undefined ? undefined : { path, pairs: [["", written]], blind: text(response["type"]) !== "create" };
}

/** A part of a patch: its lines begin with a blank, "-" or "+". */
function hunk(v: unknown): readonly [string, string] | undefined {
  const lines = list(members(v)["lines"]);
  if (lines.length === 0 || !lines.every((l) => typeof l === "string")) return undefined;
  const of = (sign: string) => (lines as string[]).filter((l) => l[0] === " " || l[0] === sign).map((l) => l.slice(1)).join("\n");
  return [of("-"), of("+")];
}

/** The change line by line, made visible. It takes its time: only what is looked at is compared. */
export function diffsOf(change: Change): Diff[] {
  return change.pairs.map(([before, after]) => diffOf(visibleText(before), visibleText(after)));
}

/** The files that calls have changed, the one changed last first. */
export function changedFiles(calls: readonly Call[]): ChangedFile[] {
  const files = new Map<string, ChangedFile>();
  for (const c of calls) {
    const change = c.mark === "ran" || c.mark === "overruled" ? changeOf(c) : undefined;
    if (!change) continue;
    const path = visibleLine(change.path);
    const file = files.get(path) ?? { path, edits: [] };
    files.delete(path);
    files.set(path, file);
    file.edits.push({ id: c.id, pos: c.pos, change });
  }
  return [...files.values()].reverse();
}

/** How many lines went and came. */
export function counted(diffs: readonly Diff[]): { plus: number; minus: number } {
  const lines = diffs.flatMap((d) => d.lines);
  const of = (sign: string) => lines.reduce((n, l) => n + (l.sign === sign ? l.blank || 1 : 0), 0);
  return { plus: of("+"), minus: of("-") };
}
