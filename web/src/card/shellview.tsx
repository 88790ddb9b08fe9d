// A shell command, coloured by what the rules read in it, and what that is in words. The colours
// come from the broker's own reading: where it could not read, nothing is coloured.
import type { PermissionRequest, Unit } from "../broker/types.gen";
import { Ticked } from "../text/rich";
import { words } from "../text/words";
import { Rows, type Mark, type Row } from "./exact";

interface Props {
  request: PermissionRequest;
  rows: readonly Row[];
  /** How many lines stand before them, and whether there are several in all. */
  from: number;
  several: boolean;
  summary: boolean;
}

export function Shell({ request, rows, from, several, summary }: Props) {
  const doubts = request.doubts ?? [];
  // What a program may run besides is worth a line only where it makes the rules doubt.
  const units = (request.units ?? []).filter((u) => !u.guessed || doubts.length > 0);
  return (
    <>
      <pre class="code shell" data-ui="shell">
        <Rows rows={rows} marks={marksOf(units, doubts)} from={from} several={several} />
      </pre>
      {summary && (units.length > 1 || units.some(remarkable)) && <Units units={units} more={request.moreUnits ?? 0} />}
      {summary &&
        doubts.map((d, i) => (
          <p class="remark" key={i}>
            <Ticked text={words.shell.doubt(d.why)} />
          </p>
        ))}
    </>
  );
}

/** In order and without overlaps. A doubt about a part of the text goes before a colour. */
export function marksOf(units: readonly Unit[], doubts: NonNullable<PermissionRequest["doubts"]>): Mark[] {
  const end = Math.max(0, ...units.map((u) => u.end));
  const all: Mark[] = doubts.filter((d) => d.end > d.start && (d.start > 0 || d.end < end)).map((d) => ({ start: d.start, end: d.end, kind: "doubt" }));
  for (const u of units) for (const w of u.words ?? []) all.push({ start: w.start, end: w.end, kind: w.kind });
  all.sort((a, b) => a.start - b.start || Number(b.kind === "doubt") - Number(a.kind === "doubt"));
  let last = 0;
  return all.filter((m) => {
    if (m.start < last) return false;
    last = m.end;
    return true;
  });
}

function remarkable(u: Unit): boolean {
  return u.kind !== "command" || !!u.via?.length || !!u.inner || !!u.guessed || !!u.dir || !u.program;
}

/** All of them: one that is folded may be the one that deletes. */
function Units({ units, more }: { units: readonly Unit[]; more: number }) {
  const row = (u: Unit, i: number) => (
    <li key={i}>
      <span class="does">{u.guessed ? words.shell.perhaps(words.shell.does[u.kind]) : words.shell.does[u.kind]}</span> <code>{u.text || "…"}</code>{" "}
      {!!u.via?.length && <small>{words.shell.via(u.via.join(" › "))}</small>}{" "}
      {u.dir && <small>{words.shell.dir(u.dir)}</small>}{" "}
      {u.dirUnknown && <small>{words.shell.dirUnknown}</small>}
    </li>
  );
  return (
    <div class="units" data-ui="units">
      <span class="label">{words.shell.readAs(units.length + more)}</span>
      <ol>{units.map(row)}</ol>
      {more > 0 && <p class="remark">{words.shell.others(more)}</p>}
    </div>
  );
}
