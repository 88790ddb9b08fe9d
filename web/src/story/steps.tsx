// What happened to a message, step by step, and whether its device signed it as it stands; and what the record proves of that.
import { useEffect, useState } from "preact/hooks";
import { checkSignature, type Signed } from "../agents/send";
import type { Message } from "../broker/types.gen";
import { recordOf, Trace } from "../panels/trace";
import { visibleLine } from "../text/visible";
import { words } from "../text/words/all";
import { laterWords } from "../text/words/later";

const w = laterWords.steps;

export function Steps({ message: m }: { message: Message }) {
  const [signed, setSigned] = useState<{ of: Message; is: Signed }>();
  const [open, setOpen] = useState(false);
  const [traced, trace] = useState(false);
  useEffect(() => {
    if (open) void checkSignature(m).then((is) => setSigned({ of: m, is }));
  }, [open, m]);
  return (
    <details data-ui="steps" onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>{w.head}</summary>
      <ol>
        {m.steps.map((s, i) => (
          <li key={i} data-state={s.state}>
            <b>{w.states[s.state]}</b> <time dateTime={s.at}>{clock(s.at)}</time>
            {i > 0 && ` · ${w.after(pause(m.steps[i - 1]!.at, s.at))}`}
            {s.state === "taken" && m.way && ` · ${w.ways[m.way]}`}
            {s.why && ` · ${visibleLine(s.why)}`}
          </li>
        ))}
        {m.forgotten && (
          <li data-state="forgotten">
            <b>{w.forgotten}</b> <time dateTime={m.forgotten.at}>{clock(m.forgotten.at)}</time>
            {m.forgotten.by && ` · ${visibleLine(m.forgotten.by.name ?? m.forgotten.by.kind)}`}
          </li>
        )}
      </ol>
      {signed?.of === m && (
        <p data-ui="signature" data-state={signed.is}>
          {w.signed[signed.is]}
        </p>
      )}
      <button type="button" class="link" data-action="trace" aria-expanded={traced} onClick={() => trace(!traced)}>
        {traced ? words.trace.close : words.trace.open}
      </button>
      {open && traced && <Trace key={m.steps.length} id={recordOf(m.id)} />}
    </details>
  );
}

function clock(at: string): string {
  return new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
}

/** The time between two steps, in seconds. */
function pause(from: string, to: string): string {
  const s = (Date.parse(to) - Date.parse(from)) / 1000;
  return s < 10 ? s.toFixed(2) : String(Math.round(s));
}
