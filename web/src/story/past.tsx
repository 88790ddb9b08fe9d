// One line for a request that is over; a long command unfolds.
import { useState } from "preact/hooks";
import { clockSkew, now } from "../broker/clock";
import { toolKind } from "../broker/tools";
import { Said } from "../card/said";
import { AgentMark } from "../queue/agent";
import { lastElement, outcomeLine, saysOf, sessionName, shownOf, since, type Item } from "../queue/model";
import { Paths, Ticked } from "../text/rich";
import { visibleLine } from "../text/visible";
import { words } from "../text/words";

const gistChars = 80;

export function Past({ item }: { item: Item }) {
  const { request: r } = item;
  const [open, setOpen] = useState(false);
  const line = outcomeLine(item, Date.now());
  const shown = shownOf(item);
  const plan = toolKind(r.toolName) === "plan";
  const main = shown?.fields.find((f) => (plan ? f.name === "plan" : f.kind === "code" || f.kind === "path" || f.kind === "url"));
  const summary = main && gistOf(main.kind === "path" ? lastElement(main.text) : plan ? main.text.replace(/^[#\s]+/, "") : main.text);
  const answers = r.allowed?.answers;
  const output = r.response?.hookSpecificOutput;
  const d = (output && "decision" in output ? output.decision : undefined) ?? (item.attempt?.phase === "taken" ? item.attempt.decision : undefined);
  const more = r.allowed?.changes || (main && summary !== main.text) || d?.message || d?.interrupt || d?.updatedPermissions?.length;
  return (
    <li class={`past ${line?.tone ?? "gone"}`} data-ui="past" data-state={line?.tone}>
      <div class="where">
        <AgentMark of={r} /> <b><bdi>{visibleLine(sessionName(r))}</bdi></b>
        <time class="age">{since(Math.max(0, now.value - clockSkew - item.endedAt))}</time>
      </div>
      <div class="what">{saysOf(item)}</div>
      {main && <div class="summary" data-ui="summary">{open ? main.text : summary}</div>}
      {open ? (
        <Said item={item} />
      ) : (
        answers?.map((a) => (
          <div class="summary" data-ui="answer" key={a.question}>
            {a.question} → {a.answer}
          </div>
        ))
      )}
      {more && (
        <button type="button" class="link" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? words.past.less : words.past.all}
        </button>
      )}
      <div class="outcome" data-ui="outcome">{line && <Paths text={line.text} />}</div>
      {item.remark && <div class="remark"><Ticked text={item.remark} /></div>}
    </li>
  );
}

/** The beginning of a text: its first line, and of that no more than fits two or three. */
export function gistOf(text: string): string {
  const end = text.indexOf("\n");
  const first = end < 0 ? text : text.slice(0, end);
  if (first.length <= gistChars) return end < 0 ? text : `${first} …`;
  const cut = first.charCodeAt(gistChars - 1) >= 0xd800 && first.charCodeAt(gistChars - 1) < 0xdc00 ? gistChars - 1 : gistChars;
  return `${first.slice(0, cut)}…`;
}
