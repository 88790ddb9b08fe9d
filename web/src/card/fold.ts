// Which lines of a shell command are folded away at first: whole runs of plain commands in which
// assent found nothing worth a person's attention. A line stays in sight if any part of it is marked,
// stands in a command that is marked, may mean something else than it says, or changes what the lines
// after it mean. Plain values; shellview.tsx shows them.
import type { PermissionRequest, Unit } from "../broker/types.gen";
import type { Row } from "./exact";

/** A run of rows, which is shown or folded. */
export interface Run {
  folded: boolean;
  rows: readonly Row[];
  /** How many lines stand before it. */
  from: number;
}

const few = 8; // lines; of so many none is folded
const shortest = 3; // lines of a run; fewer take no more room than what says that they are folded
const head = 3; // lines at the beginning that stay in sight
const tail = 2; // and at the end

// What changes where the lines after it run, or what they mean.
const changes: ReadonlySet<string> = new Set(
  ". : alias builtin cd chroot command declare enable env eval exec exit export function getopts hash let local popd pushd read readonly return set shift shopt source su sudo trap typeset ulimit umask unalias unset".split(" "),
);

/** The runs of a command's rows; one where nothing is folded. */
export function runsOf(r: PermissionRequest, text: string, rows: readonly Row[]): Run[] {
  const all = [{ folded: false, rows, from: 0 }];
  const busy = busyIn(r, text);
  if (!busy || rows.length <= few) return all;
  const fold = rows.map((row, i) => i >= head && i < rows.length - tail && row.blank === 0 && !touches(busy, row.at, row.at + row.text.length) && plain(r.units!, row));
  const runs: Run[] = [];
  let from = 0;
  let shown: Row[] = [];
  const settle = () => {
    if (shown.length > 0) runs.push({ folded: false, rows: shown, from });
    from += lineTotal(shown);
    shown = [];
  };
  for (let i = 0; i < rows.length; ) {
    let end = i + 1;
    while (end < rows.length && fold[end] === fold[i]) end++;
    const some = rows.slice(i, end);
    i = end;
    if (fold[end - 1] && some.length >= shortest) {
      settle();
      runs.push({ folded: true, rows: some, from });
      from += some.length;
    } else shown.push(...some);
  }
  settle();
  return runs;
}

/** How many lines rows stand for. */
export function lineTotal(rows: readonly Row[]): number {
  return rows.reduce((n, row) => n + (row.blank || 1), 0);
}

/** How many lines are folded. */
export function foldedLines(runs: readonly Run[]): number {
  return runs.reduce((n, run) => n + (run.folded ? run.rows.length : 0), 0);
}

type Span = readonly [start: number, end: number];

/** The parts of a command that are never folded, or undefined where nothing of it may be: assent does
 * not say what it does, or not where. */
function busyIn(r: PermissionRequest, text: string): Span[] | undefined {
  const { units = [], marks = [], doubts = [] } = r;
  if (!r.risk || r.uninspectable || r.moreUnits || units.length === 0 || text.includes("<<")) return undefined;
  const mild = r.risk === "calm" || r.risk === "normal";
  if (!mild && marks.length === 0) return undefined;
  const last = Math.max(...units.map((u) => u.end));
  if (doubts.some((d) => d.end <= d.start || (d.start === 0 && d.end >= last))) return undefined;
  const spans: Span[] = [...marks, ...doubts].map((m) => [m.start, m.end]);
  for (const u of units) if (!harmless(u) || (!mild && !prints.has(u.program!)) || touches(spans.slice(0, marks.length + doubts.length), u.start, u.end)) spans.push([u.start, u.end]);
  return spans;
}

// Where the whole is worse than normal, a line that is not marked may still do something: only what prints
// is folded there.
const prints: ReadonlySet<string> = new Set([":", "date", "echo", "printf", "pwd", "true"]);

function harmless(u: Unit): boolean {
  return u.kind === "command" && !!u.program && !changes.has(u.program) && !u.guessed && !u.inner && !u.dirUnknown;
}

function touches(spans: readonly Span[], start: number, end: number): boolean {
  return spans.some((s) => s[0] < end && s[1] > start);
}

/** Whether a line has nothing but units, what separates them, or a comment. */
function plain(units: readonly Unit[], row: Row): boolean {
  let rest = row.text;
  for (const u of units) {
    const start = Math.max(0, u.start - row.at);
    const end = Math.min(row.text.length, u.end - row.at);
    if (start < end) rest = rest.slice(0, start) + " ".repeat(end - start) + rest.slice(end);
  }
  return /^[\s;&|]*$/.test(rest) || (/^\s*#/.test(row.text) && rest === row.text && !row.text.endsWith("\\"));
}
