// Makes the difference of an edit, or of a file that is written anew, among the lines of the file.
import { diffOf, near, stays } from "./diff";
import type { ChangePart } from "./parts";

export const longDiff = 40; // lines
const longDiffChars = 6000;

export function made(p: ChangePart): ChangePart {
  if (p.made) return p;
  const [was, is, ended] = texts(p);
  const { lines } = diffOf(was, is, p.at?.line);
  const { line = 0, above = [], below = [] } = p.at ?? {};
  const end = lines.reduce((n, l) => (l.sign === "-" ? n : Math.max(n, l.number + (l.blank || 1))), line);
  const all = [...above.map((t, i) => stays(t, line - above.length + i)), ...lines, ...below.map((t, i) => stays(t, end + i))];
  const some = near({ lines: all });
  return { ...p, made: { lines: some, all, ended }, long: some.length > longDiff || some.reduce((n, l) => n + l.text.length + 1, 0) > longDiffChars + 1 };
}

/** Both texts without the line feed that ends their last line: what stands behind it is no line. Not where only one of them
 * ends so, which is a change, nor where it is not known where in the file they stand. */
function texts({ was, is, at }: ChangePart): [was: string, is: string, ended: boolean] {
  const ends = (text: string) => text === "" || (text !== "\n" && text.endsWith("\n"));
  if ((!at && was) || !ends(was) || !ends(is)) return [was, is, false];
  return [was.slice(0, -1), is.slice(0, -1), true];
}
