// A text exactly as it is, so that two texts never look the same. The broker has made visible what
// cannot be seen. What is left are blanks, of which nobody can tell how many there are: long runs
// of empty lines and of spaces, spaces at a line's end, tabs. They stand between ⟦ and ⟧, which no
// text from the broker holds but where it made something visible itself. (An emoji is drawn: emoji.tsx.) And there is the screen's
// edge: a line breaks there after a blank or where it is full, never inside a word that fits
// ("/tmp/" and "cache" on two lines are two words), and where a text has several lines they are
// numbered, so that one that was broken is not taken for two.
import type { ComponentChildren } from "preact";
import { drawn } from "../text/emoji";
import { words } from "../text/words";

/** A line of a text, or a run of empty ones that stands as one. */
export interface Row {
  at: number; // of its first character in the text
  text: string;
  /** How many empty lines it stands for; 0 for a line. */
  blank: number;
}

const fewBlank = 3; // empty lines in a row that stay as they are
const longGap = / {24,}| +$|\t/g;
const run = /\t| +|[^ \t]+/g;
const manySpaces = 24;
const longWord = 24; // characters; a longer one may break anywhere, where the line is full
// What no browser breaks by itself. Letters that run from right to left stand in no box of their own:
// boxes are put in the order of text that runs from left to right.
const unbreakable = /^[\w.\u0590-\u08ff]+$/;
const rightToLeft = /[\u0590-\u08ff]/;
export const mostRows = 3000; // of one text; each is an element
/** Longer texts are broken wherever a line is full, which takes no element for each word. */
export const mostWords = 20_000; // characters

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

interface Piece {
  start: number;
  end: number;
  kind: string;
}

/** One line, with its blanks made visible. first is the index of its first character in the text
 * that the marks are about. Where marks overlap, the first one counts. plainly: words are not kept
 * together, which is for what stands in Full. */
export function lineOf(line: string, marks: readonly Mark[] = [], first = 0, plainly = false): ComponentChildren {
  const pieces = piecesOf(line, marks, first);
  const out: ComponentChildren[] = [];
  let at = 0;
  const put = (end: number) => {
    if (end > at) out.push(...marked(pieces, at, end, (from, to) => line.slice(from, to)));
    at = end;
  };
  for (const m of line.matchAll(run)) {
    const [text, start, end] = [m[0], m.index, m.index + m[0].length];
    const show = (what: (from: number, to: number) => ComponentChildren) => {
      put(start);
      out.push(...marked(pieces, start, end, what));
      at = end;
    };
    if (text === "\t") show(() => <span class="tab" data-mark="tab">{"\t"}</span>);
    else if (text[0] === " ") {
      if (end === line.length || text.length >= manySpaces) show((from, to) => <span class="gap" data-mark="gap">{words.exact.spaces(to - from)}</span>);
      else if (text.length > 1 && start > 0) show((from, to) => <span class="spaces" data-mark="spaces">{line.slice(from, to)}</span>);
    } else if (!plainly && !unbreakable.test(text)) {
      put(start);
      const long = text.length > longWord || rightToLeft.test(text);
      out.push(<span class={long ? "long-word" : "word-whole"}>{marked(pieces, start, end, (from, to) => drawn(line.slice(from, to)))}</span>);
      at = end;
    }
  }
  put(line.length);
  return out;
}

/** The line from end to end, cut where a mark begins or ends. */
function piecesOf(line: string, marks: readonly Mark[], first: number): Piece[] {
  const out: Piece[] = [];
  let at = 0;
  for (const m of marks) {
    const start = Math.max(at, m.start - first);
    const end = Math.min(line.length, m.end - first);
    if (start >= end) continue;
    if (start > at) out.push({ start: at, end: start, kind: "" });
    out.push({ start, end, kind: m.kind });
    at = end;
  }
  if (at < line.length) out.push({ start: at, end: line.length, kind: "" });
  return out;
}

/** The part of a line between two places, piece by piece. */
function marked(pieces: readonly Piece[], start: number, end: number, what: (from: number, to: number) => ComponentChildren): ComponentChildren[] {
  const out: ComponentChildren[] = [];
  for (const p of pieces) {
    const from = Math.max(p.start, start);
    const to = Math.min(p.end, end);
    if (from >= to) continue;
    out.push(p.kind ? <span class={p.kind} data-mark={p.kind}>{what(from, to)}</span> : what(from, to));
  }
  return out;
}

/** Breaks the lines of a text wherever they are full. */
export function Full({ children }: { children: ComponentChildren }) {
  return <span class="full">{children}</span>;
}

/** The words for a run of empty lines, as a row of its own. */
export function blankRow(count: number): ComponentChildren {
  return <span class="gap" data-mark="gap">{words.exact.blankLines(count)}</span>;
}

/** Rows as text, numbered where there are several. from: how many lines stand before the first.
 * Beyond some thousands the rest is one piece: it is all there, and plain. */
export function Rows({ rows, marks = [], from = 0, several = rows.length > 1 || from > 0 }: { rows: readonly Row[]; marks?: readonly Mark[]; from?: number; several?: boolean }) {
  const some = rows.slice(0, mostRows);
  const rest = rows.slice(mostRows);
  const plainly = some.reduce((n, r) => n + r.text.length, 0) > mostWords;
  let next = 0; // of the marks, which are in order
  let number = from + 1;
  const shown = some.map((r, i) => {
    while (next < marks.length && marks[next]!.end <= r.at) next++;
    const own: Mark[] = [];
    for (let k = next; k < marks.length && marks[k]!.start < r.at + r.text.length; k++) own.push(marks[k]!);
    const its = number;
    number += r.blank || 1;
    return (
      <span class={several ? "row numbered" : "row"} data-ui="line" key={i} {...(several ? { "data-number": its } : {})}>
        {r.blank ? blankRow(r.blank) : lineOf(r.text, own, r.at, plainly)}
        {i < rows.length - 1 && "\n"}
      </span>
    );
  });
  const all = (
    <>
      {shown}
      {rest.length > 0 && plainText(rest)}
    </>
  );
  const numbered = several ? <span class="numbers">{all}</span> : all;
  return plainly || rest.length > 0 ? <Full>{numbered}</Full> : numbered;
}

/** Lines in one piece: where each ends is written out, for they have no numbers. */
export function plainText(lines: readonly { text: string; blank: number }[]): string {
  return lines.map((l) => (l.blank ? words.exact.blankLines(l.blank) : l.text.replace(longGap, gapText))).join(words.exact.lineEnd + "\n");
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
