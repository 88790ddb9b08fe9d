// What was asked of the agent, and what the agent said last: plain text, without markup or links, of
// which nobody vouches for a word. The prompt stands above the request, the agent's claim below what
// assent says of it; where there is danger it is folded.
import { useState } from "preact/hooks";
import { now } from "../broker/clock";
import { dangerous } from "../queue/friction";
import { agoWords, type Item } from "../queue/model";
import { visibleLine } from "../text/visible";
import { words } from "../text/words";

const minute = 60_000;

/** How many characters take about two lines, with what stands around them. */
const preview = (): number => (matchMedia("(min-width: 62.5em)").matches ? 170 : 76);

export function Prompt({ item }: { item: Item }) {
  const c = item.request.context;
  if (!c?.prompt) return null;
  const who = c.promptFrom === "session" ? words.context.session(c.promptSender ?? "") : c.promptFrom === "you" ? words.context.you : words.context.prompt;
  const age = c.promptAt ? now.value - Date.parse(c.promptAt) : 0;
  const cut = c.promptCut ? words.context.endCut : "";
  // Somebody else's words, above what assent says: not where they could talk anybody into danger.
  if (c.promptFrom !== "you" && dangerous(item.request)) return <Claim ui="prompt" who={who} text={c.prompt} cut={cut} />;
  return <Quote ui="prompt" who={`${who}:`} text={c.prompt} cut={cut} after={age > minute ? agoWords(age) : ""} />;
}

export function LastWords({ item: { request: r } }: { item: Item }) {
  const c = r.context;
  if (!c) return null;
  const agent = c.saidBy === "subagent" ? words.context.subagent : visibleLine(words.card.agentName(r.agent));
  if (!c.said) {
    const why = words.context.unheard[c.saidWhy ?? ""];
    return why ? <p class="remark" data-ui="said-last">{why(agent)}</p> : null;
  }
  const cut = c.saidCut ? words.context.beginningCut : "";
  if (dangerous(r)) return <Claim ui="said-last" who={words.context.said(agent)} text={c.said} cut={cut} />;
  return <Quote ui="said-last" who={`${words.context.says(agent)}:`} text={c.said} cut={cut} end />;
}

interface Props {
  ui: string;
  who: string;
  text: string;
  /** What was left out before it came here. */
  cut: string;
  after?: string;
  /** Of a long text the end is shown first, not the beginning. */
  end?: boolean;
}

/** Folded: what somebody claims beside something dangerous. */
function Claim({ ui, who, text, cut }: { ui: string; who: string; text: string; cut: string }) {
  return (
    <details class="words" data-ui={ui}>
      <summary>{words.card.foldedWords(who, text.length)}</summary>
      <q class="quoted" dir="auto">{text}</q> {cut && <small>{cut}</small>}
    </details>
  );
}

function Quote({ ui, who, text, cut, after, end }: Props) {
  const [all, setAll] = useState(false);
  const size = preview();
  const long = text.length > size + 12 || text.includes("\n");
  return (
    <p class={all ? "quote all" : "quote"} data-ui={ui}>
      <span class="by">{who}</span> <q class="quoted" dir="auto">{all || !long ? text : end ? `…${tailOf(text, size)}` : `${headOf(text, size)}…`}</q>
      {after && <small> · {after}</small>}
      {all && cut && <small> {cut}</small>}
      {long && (
        <>
          {" "}
          <button type="button" class="link" aria-expanded={all} onClick={() => setAll(!all)}>
            {all ? words.past.less : words.context.all(text.length)}
          </button>
        </>
      )}
    </p>
  );
}

/** The beginning of a text, to the end of a word. */
export function headOf(text: string, size: number): string {
  const head = [...text.slice(0, size * 2)].slice(0, size).join("");
  return head.replace(/\s+\S{0,20}$/, "");
}

/** The end of a text, from the beginning of a word. */
export function tailOf(text: string, size: number): string {
  const tail = [...text.slice(-size * 2)].slice(-size).join("");
  return tail.replace(/^\S{0,20}\s+/, "");
}
