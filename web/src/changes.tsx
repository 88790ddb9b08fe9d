// A diff, unified, with the words that differ marked.
import type { Diff, Line } from "./diff";
import { blankRow, Full, lineOf, mostWords } from "./exact";
import { words } from "./words";

const around = 3; // lines of what stays that are shown beside a change
const signs: Readonly<Record<Line["sign"], string>> = { " ": "stays", "-": "goes", "+": "comes" };

export function Changes({ diff, lines = diff.lines }: { diff: Diff; lines?: readonly Line[] }) {
  const plainly = lines.reduce((n, l) => n + l.text.length, 0) > mostWords;
  const all = lines.map((l, i) => (
    <span class={`line ${signs[l.sign]}`} key={i} data-sign={l.sign === "-" ? "−" : l.sign}>
      {l.sign !== " " && <span class="unseen">{l.sign === "-" ? words.diff.goes : words.diff.comes}</span>}
      {l.blank ? blankRow(l.blank) : lineOf(l.text, l.marks, 0, plainly)}
      {"\n"}
    </span>
  ));
  return <pre class="diff">{plainly ? <Full>{all}</Full> : all}</pre>;
}

/** The changes and some lines around them, for texts whose rest was shown already. */
export function near(diff: Diff): Line[] {
  const keep = new Set<number>();
  diff.lines.forEach((l, i) => {
    if (l.sign !== " ") for (let k = i - around; k <= i + around; k++) keep.add(k);
  });
  return diff.lines.filter((_, i) => keep.has(i));
}
