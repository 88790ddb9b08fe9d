// A shell command, with what assent warns of in red or amber, bold and underlined. Where the marks are
// is the broker's own reading: what it could not read is not marked, and then nothing is folded.
import type { PermissionRequest, Unit } from "../broker/types.gen";
import { words } from "../text/words";
import { Rows, type Mark, type Row } from "./exact";
import type { Run } from "./fold";

interface Props {
  request: PermissionRequest;
  /** The whole command. */
  text: string;
  rows: readonly Row[];
  /** How many lines stand before them, and whether there are several in all. */
  from: number;
  several: boolean;
}

export function Shell({ rows, from, ...rest }: Props) {
  return <Folded {...rest} runs={[{ folded: false, rows, from }]} />;
}

/** A command of which runs of plain lines are folded; each says how many lines it is. */
export function Folded({ request, text, runs, several }: { request: PermissionRequest; text: string; runs: readonly Run[]; several: boolean }) {
  const marks = marksOf(text, request.units ?? [], request.marks ?? []);
  return (
    <pre class="code shell" data-ui="shell">
      {runs.map((run, i) =>
        run.folded ? (
          <span class="folded" data-ui="folded" key={i}>
            {words.shell.folded(run.rows.length)}
          </span>
        ) : (
          <Rows key={i} rows={run.rows} marks={marks} from={run.from} several={several} />
        ),
      )}
    </pre>
  );
}

const warns: ReadonlySet<string> = new Set(["danger", "attention"]);

/** In order and without overlaps. What assent warns of goes before what is only a program's name, and
 * danger before attention; words beside each other stand as one mark. */
export function marksOf(text: string, units: readonly Unit[], warnings: NonNullable<PermissionRequest["marks"]>): Mark[] {
  const all: Mark[] = [];
  for (const risk of ["danger", "attention"] as const) {
    for (const m of warnings.filter((w) => w.risk === risk)) {
      let at = m.start;
      for (const o of [...all].sort((a, b) => a.start - b.start)) {
        if (o.end <= at || o.start >= m.end) continue;
        if (o.start > at) all.push({ start: at, end: o.start, kind: risk });
        at = o.end;
      }
      if (at < m.end) all.push({ start: at, end: m.end, kind: risk });
    }
  }
  for (const u of units) for (const w of u.words ?? []) if (!warnings.some((m) => m.start < w.end && m.end > w.start)) all.push({ start: w.start, end: w.end, kind: w.kind });
  all.sort((a, b) => a.start - b.start);
  const out: Mark[] = [];
  for (const m of all) {
    const last = out[out.length - 1];
    if (last && m.start < last.end) continue;
    if (last?.kind === m.kind && warns.has(m.kind) && /^ *$/.test(text.slice(last.end, m.start))) last.end = m.end;
    else out.push({ ...m });
  }
  return out;
}
