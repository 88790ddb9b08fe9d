// What an edit changes, line by line, and within lines word by word. Plain values; changes.tsx
// shows them.
import { diffArrays, diffWordsWithSpace } from "diff";
import { rowsOf, type Mark } from "./exact";

export interface Line {
  sign: " " | "-" | "+";
  text: string;
  marks: Mark[];
  /** So many empty lines stand as this one; 0 for a line. */
  blank: number;
  /** Its number in the file: as it was if it goes, else as it will be. 0 where that is not known. */
  number: number;
  /** So many lines that stay are left out here. */
  left?: number;
}

export interface Diff {
  lines: Line[];
  /** How many lines change: those that go or those that come, whatever is more, in each place. */
  changed: number;
}

// Bounds of the search. Beyond them all that was goes and all that is comes, which is true, too.
const mostEdits = 1500;
const longestLine = 2000; // characters; of longer ones no words are marked
const mostMarked = 400; // pairs of lines

/** The whole of both texts: what stays stands once. first is the number of their first line, 0 where
 * it is not known. */
export function diffOf(before: string, after: string, first = 0): Diff {
  const a = split(before);
  const b = split(after);
  const parts = diffArrays(a, b, { maxEditLength: mostEdits }) ?? [
    { value: a, removed: true, added: false },
    { value: b, added: true, removed: false },
  ];
  const lines: Line[] = [];
  let changed = 0;
  let marked = 0;
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i]!;
    if (!part.added && !part.removed) {
      for (const text of part.value) lines.push(line(" ", text));
      continue;
    }
    const next = parts[i + 1];
    const pair = next && (next.added || next.removed) && next.added !== part.added ? next : undefined;
    const gone = (part.removed ? part.value : pair?.value ?? []).map((t) => line("-", t));
    const come = (part.added ? part.value : pair?.value ?? []).map((t) => line("+", t));
    if (pair) i++;
    changed += Math.max(gone.length, come.length);
    for (let k = 0; k < gone.length && k < come.length && marked < mostMarked; k++, marked++) markWords(gone[k]!, come[k]!);
    lines.push(...gone, ...come);
  }
  if (first > 0) {
    let was = first;
    let is = first;
    for (const l of lines) {
      l.number = l.sign === "-" ? was : is;
      if (l.sign !== "+") was++;
      if (l.sign !== "-") is++;
    }
  }
  return { lines: collapse(lines), changed };
}

const around = 3; // lines of what stays that are shown beside a change

/** The changes and some lines around them. Where more is left out, a line says how much. */
export function near({ lines }: Pick<Diff, "lines">): Line[] {
  const keep = new Set<number>();
  lines.forEach((l, i) => {
    if (l.sign !== " ") for (let k = i - around; k <= i + around; k++) keep.add(k);
  });
  const out: Line[] = [];
  for (let i = 0; i < lines.length; ) {
    let end = i;
    while (end < lines.length && !keep.has(end)) end++;
    const some = lines.slice(i, end);
    if (some.length > 1) out.push({ ...line(" ", ""), left: some.reduce((n, l) => n + (l.blank || 1), 0) });
    else out.push(...some);
    if (end < lines.length) out.push(lines[end]!);
    i = end + 1;
  }
  return out;
}

/** A text of no characters has no line at all: a file that is written new. */
function split(text: string): string[] {
  return text === "" ? [] : text.split("\n");
}

/** A line that stays. */
export function stays(text: string, number: number): Line {
  return { ...line(" ", text), number };
}

function line(sign: Line["sign"], text: string): Line {
  return { sign, text, marks: [], blank: 0, number: 0 };
}

/** Marks what differs within a line that was changed, unless nothing is left of it. */
function markWords(gone: Line, come: Line): void {
  if (gone.text.length > longestLine || come.text.length > longestLine) return;
  const parts = diffWordsWithSpace(gone.text, come.text, { maxEditLength: mostEdits });
  if (!parts?.some((p) => !p.added && !p.removed && p.value.trim() !== "")) return;
  let a = 0;
  let b = 0;
  for (const { value, added, removed } of parts) {
    if (removed) gone.marks.push({ start: a, end: a + value.length, kind: "word" });
    if (added) come.marks.push({ start: b, end: b + value.length, kind: "word" });
    if (!added) a += value.length;
    if (!removed) b += value.length;
  }
}

/** Makes one of many empty lines of one sign. */
function collapse(lines: Line[]): Line[] {
  const out: Line[] = [];
  for (let i = 0; i < lines.length; ) {
    let end = i;
    while (end < lines.length && lines[end]!.text === "" && lines[end]!.sign === lines[i]!.sign) end++;
    const rows = end > i + 1 ? rowsOf("\n".repeat(end - i - 1)) : [];
    if (rows.length === 1) {
      out.push({ ...lines[i]!, blank: end - i });
      i = end;
    } else out.push(lines[i++]!);
  }
  return out;
}
