// Reads the text of a unified diff as git writes it, file by file, for the drawing that cards use. Plain
// values; all texts are made visible here.
import { diffOf, stays, type Line } from "../card/diff";
import { visibleLine, visibleText } from "../text/visible";

/** Reads a diff: the lines of each file by its path, as the diff calls it. */
export function readDiff(text: string): Map<string, Line[]> {
  const files = new Map<string, Line[]>();
  let file: Line[] = [];
  let before = ""; // the path on the left
  let hunk: Hunk | undefined;
  const close = () => {
    if (hunk) file.push(...(file.length > 0 ? [gap] : []), ...linesOf(hunk));
    hunk = undefined;
  };
  for (const line of text.split("\n")) {
    if (hunk && (hunk.old > 0 || hunk.new > 0) && take(hunk, line)) continue;
    const at = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line);
    if (at) {
      close();
      hunk = { was: Number(at[1]), is: Number(at[3]), old: Number(at[2] ?? 1), new: Number(at[4] ?? 1), before: [], after: [] };
    } else if (line.startsWith("diff --git ")) {
      close();
      file = [];
      before = "";
    } else if (line.startsWith("--- ")) before = pathOf(line.slice(4));
    else if (line.startsWith("+++ ")) files.set(pathOf(line.slice(4)) || before, file);
  }
  close();
  return files;
}

/** A part of a file: its lines that are still to come, on both sides, and those that came. */
interface Hunk {
  was: number;
  is: number;
  old: number;
  new: number;
  before: string[];
  after: string[];
}

/** Takes in a line of a hunk; false: it is none. */
function take(h: Hunk, line: string): boolean {
  const sign = line[0] ?? " "; // an empty line whose blank was cut off
  const text = line.slice(1);
  if (sign === "\\") return true; // No newline at end of file
  if (sign !== " " && sign !== "-" && sign !== "+") return false;
  if (sign !== "+") (h.before.push(text), h.old--);
  if (sign !== "-") (h.after.push(text), h.new--);
  return true;
}

/** Stands where the lines between two hunks are left out. */
const gap: Line = stays("⋯", 0);

function linesOf(h: Hunk): Line[] {
  const lines = [h.before, h.after].some((side) => side.length === 1 && side[0] === "") ? each(h) : diffOf(visibleText(h.before.join("\n")), visibleText(h.after.join("\n"))).lines;
  let { was, is } = h;
  for (const l of lines) {
    const rows = l.blank || 1;
    l.number = l.sign === "-" ? was : is;
    if (l.sign !== "+") was += rows;
    if (l.sign !== "-") is += rows;
  }
  return lines;
}

/** Line by line, where one side is one empty line, which is no text. */
function each(h: Hunk): Line[] {
  const of = (side: string[], sign: Line["sign"]) => side.map((text): Line => ({ ...stays(visibleText(text), 0), sign }));
  return [...of(h.before, "-"), ...of(h.after, "+")];
}

/** The path in a line of a diff's head; "" for /dev/null. Git quotes a path with unusual characters. */
function pathOf(name: string): string {
  const path = name.startsWith('"') ? unquoted(name) : name.replace(/\t$/, "");
  return path === "/dev/null" ? "" : visibleLine(path.replace(/^[ab]\//, ""));
}

const escapes: Readonly<Record<string, number>> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13 };

/** A path out of its quotes, in which bytes stand as octal numbers. */
function unquoted(quoted: string): string {
  const bytes: number[] = [];
  for (const [, octal, escaped, plain] of quoted.slice(1, -1).matchAll(/\\([0-7]{3})|\\(.)|([^\\]+)/gs)) {
    if (octal) bytes.push(parseInt(octal, 8));
    else if (escaped) bytes.push(escapes[escaped] ?? escaped.charCodeAt(0));
    else bytes.push(...new TextEncoder().encode(plain));
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}
