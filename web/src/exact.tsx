// A text exactly as it is. The broker has made visible what cannot be seen; what is left are
// blanks, of which nobody can tell how many there are: long runs of empty lines and of spaces,
// spaces at a line's end, tabs. They stand between ⟦ and ⟧, which no text from the broker holds
// but where it made something visible itself, so that two texts never look the same.
import type { ComponentChildren } from "preact";
import { words } from "./words";

/** A line of a text, or a run of empty ones that stands as one. */
export interface Row {
  at: number; // of its first character in the text
  text: string;
  /** How many empty lines it stands for; 0 for a line. */
  blank: number;
}

const fewBlank = 3; // empty lines in a row that stay as they are
const longGap = /\t| {24,}| +$/g;
const mostRows = 3000; // of one text; each is an element

/** The rows of a text. A line feed at the end opens an empty last row: "a" is not "a\n". */
export function rowsOf(text: string): Row[] {
  const rows: Row[] = [];
  let at = 0;
  let empty = 0;
  const settle = (end: number) => {
    if (empty > fewBlank) rows.push({ at: end - empty, text: "", blank: empty });
    else for (let i = empty; i > 0; i--) rows.push({ at: end - i, text: "", blank: 0 });
    empty = 0;
  };
  for (const line of text.split("\n")) {
    if (line === "") empty++;
    else {
      settle(at);
      rows.push({ at, text: line, blank: 0 });
    }
    at += line.length + 1;
  }
  settle(at);
  return rows;
}

/** A part of a text that looks different. */
export interface Mark {
  start: number;
  end: number;
  kind: string; // a class
}

/** One line, with its blanks made visible. first is the index of its first character in the text
 * that the marks are about. Where marks overlap, the first one counts. */
export function lineOf(line: string, marks: readonly Mark[] = [], first = 0): ComponentChildren {
  const out: ComponentChildren[] = [];
  let at = 0;
  for (const m of marks) {
    const start = Math.max(at, m.start - first);
    const end = Math.min(line.length, m.end - first);
    if (start >= end) continue;
    if (start > at) out.push(...blanks(line, at, start));
    out.push(<span class={m.kind}>{blanks(line, start, end)}</span>);
    at = end;
  }
  out.push(...blanks(line, at, line.length));
  return out;
}

/** The part of a line between two places, its long gaps replaced by what they are. */
function blanks(line: string, from: number, to: number): ComponentChildren[] {
  const out: ComponentChildren[] = [];
  let at = from;
  longGap.lastIndex = 0;
  for (const m of line.matchAll(longGap)) {
    const start = Math.max(m.index, from);
    const end = Math.min(m.index + m[0].length, to);
    if (start >= end) continue;
    out.push(line.slice(at, start));
    out.push(m[0] === "\t" ? <span class="tab">{"\t"}</span> : <span class="gap">{words.exact.spaces(end - start)}</span>);
    at = end;
  }
  out.push(line.slice(at, to));
  return out;
}

/** The words for a run of empty lines, as a row of its own. */
export function blankRow(count: number): ComponentChildren {
  return <span class="gap">{words.exact.blankLines(count)}</span>;
}

/** Rows as text. Beyond some thousands the rest is one piece: it is all there, and plain. */
export function Rows({ rows, marks = [] }: { rows: readonly Row[]; marks?: readonly Mark[] }) {
  const some = rows.slice(0, mostRows);
  const rest = rows.slice(mostRows);
  let next = 0; // of the marks, which are in order
  return (
    <>
      {some.map((r, i) => {
        while (next < marks.length && marks[next]!.end <= r.at) next++;
        const own: Mark[] = [];
        for (let k = next; k < marks.length && marks[k]!.start < r.at + r.text.length; k++) own.push(marks[k]!);
        return (
          <span class="row" key={i}>
            {r.blank ? blankRow(r.blank) : lineOf(r.text, own, r.at)}
            {i < rows.length - 1 && "\n"}
          </span>
        );
      })}
      {rest.length > 0 && rest.map((r) => (r.blank ? words.exact.blankLines(r.blank) : r.text.replace(longGap, gapText))).join("\n")}
    </>
  );
}

function gapText(gap: string): string {
  return gap === "\t" ? words.exact.tab : words.exact.spaces(gap.length);
}

const maxRows = 30;
const maxChars = 3000;
const headRows = 14;
const tailRows = 8;
const headChars = 1600;
const tailChars = 900;

/** How many rows a text has; a line feed at its end opens none here. */
export function lineCount(text: string): number {
  const n = rowsOf(text).length;
  return text.endsWith("\n") ? n - 1 : n;
}

/** Too long to be shown at once: then head and tail are, and the rest on demand. */
export function isLong(text: string): boolean {
  return rowsOf(text).reduce((n, r) => n + r.text.length + 1, 0) > maxChars + 1 || lineCount(text) > maxRows;
}

/** Cuts a long text: by rows while they are short, else by characters, never inside one. */
export function headAndTail(text: string): { head: string; tail: string; hidden: string } {
  const rows = rowsOf(text);
  if (rows.length > maxRows) {
    const end = rows[headRows]!.at - 1;
    const start = rows[rows.length - tailRows]!.at;
    const size = (part: Row[]) => part.reduce((n, r) => n + r.text.length + 1, 0); // as it looks
    if (size(rows.slice(0, headRows)) <= maxChars && size(rows.slice(-tailRows)) <= maxChars) {
      const hidden = rows.slice(headRows, -tailRows).reduce((n, r) => n + (r.blank || 1), 0);
      return { head: text.slice(0, end), tail: text.slice(start), hidden: words.fields.lines(hidden) };
    }
  }
  let from = headChars;
  let to = text.length - tailChars;
  if (isLowSurrogate(text, from)) from--;
  if (isLowSurrogate(text, to)) to--;
  return { head: text.slice(0, from), tail: text.slice(to), hidden: words.fields.characters(to - from) };
}

function isLowSurrogate(text: string, i: number): boolean {
  const c = text.charCodeAt(i);
  return c >= 0xdc00 && c < 0xe000;
}
