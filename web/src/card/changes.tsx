// A diff, unified, with the words that differ marked.
import type { ComponentChildren } from "preact";
import { words } from "../text/words";
import type { Diff, Line } from "./diff";
import { blankRow, Full, lineOf, mostRows, mostWords, plainText } from "./exact";

const signs: Readonly<Record<Line["sign"], string>> = { " ": "stays", "-": "goes", "+": "comes" };

export function Changes({ diff, lines = diff?.lines ?? [] }: { diff?: Diff; lines?: readonly Line[] }) {
  const some = lines.slice(0, mostRows);
  const plainly = some.reduce((n, l) => n + l.text.length, 0) > mostWords;
  const all = [
    ...some.map((l, i) => <One key={i} sign={l.sign} number={l.number} what={l.left ? <span class="folded" data-ui="folded">{words.diff.same(l.left)}</span> : l.blank ? blankRow(l.blank) : lineOf(l.text, l.marks, 0, plainly)} />),
    ...runs(lines.slice(mostRows)).map((r, i) => <One key={some.length + i} sign={r.sign} number={0} what={plainText(r.lines)} />),
  ];
  return <pre class={lines.some((l) => l.number) ? "diff numbered" : "diff"} data-ui="diff">{plainly || some.length < lines.length ? <Full>{all}</Full> : all}</pre>;
}

function One({ sign, number, what }: { sign: Line["sign"]; number: number; what: ComponentChildren }) {
  return (
    <span class={`line ${signs[sign]}`} data-sign={sign === "-" ? "−" : sign} data-number={number || undefined}>
      {sign !== " " && <span class="unseen" data-ui="unseen">{sign === "-" ? words.diff.goes : words.diff.comes}</span>}
      {what}
      {"\n"}
    </span>
  );
}

/** What follows some thousands of lines: those of one sign in one piece. */
function runs(lines: readonly Line[]): { sign: Line["sign"]; lines: Line[] }[] {
  const out: { sign: Line["sign"]; lines: Line[] }[] = [];
  for (const l of lines) {
    const last = out[out.length - 1];
    if (last?.sign === l.sign) last.lines.push(l);
    else out.push({ sign: l.sign, lines: [l] });
  }
  return out;
}
