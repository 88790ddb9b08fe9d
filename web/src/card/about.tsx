// What stands around the input of a request, on a card and in an opened row: how bad it could be, where
// it would happen, what was asked of the agent and what that said. Each part is nothing where there is
// nothing to say.
import { useEffect, useState } from "preact/hooks";
import { isForm, type Item } from "../queue/model";
import { lookUp } from "../queue/state";
import { Paths, Rich } from "../text/rich";
import { visibleBytes, visibleLine, visibleText } from "../text/visible";
import { words } from "../text/words";
import { Prompt } from "./context";
import { Raw } from "./fields";
import { Where } from "./head";
import type { Part } from "./parts";

/** The head of a request. says is its headline, where that does not stand above it already. */
export function Head({ item, says }: { item: Item; says?: string }) {
  const { request: r } = item;
  const input = (item.whole ?? r).toolInput;
  return (
    <header>
      <Where item={item} />
      {says !== undefined && <h3 id={`verb-${r.id}`}><Paths text={says} /></h3>}
      <Prompt item={item} />
      {isForm(r) ? <Server name={input?.["mcp_server_name"]} /> : <Mcp tool={r.toolName} />}
    </header>
  );
}

/** What to look at closely, and what a rule wants the approver to know. */
export function Notices({ item }: { item: Item }) {
  const { request: r } = item;
  return (
    <>
      {r.uninspectable && (
        <p class="notice">
          <Rich text={words.card.uninspectable} put={{ why: visibleLine(r.uninspectable) }} />
        </p>
      )}
      <RuleWords item={item} />
    </>
  );
}

/** What the agent says of its own call: its claim, below what assent says. */
export function byAgent(p: Part): boolean {
  return p.kind === "field" && p.field.kind === "words";
}

/** Of a tool of an MCP server, whose it is and what it is called. */
function Mcp({ tool }: { tool: string }) {
  const m = /^mcp__(.+?)__(.+)$/s.exec(tool);
  if (!m) return null;
  return (
    <dl class="mcp" data-ui="mcp">
      <div><dt>{words.card.server}</dt> <dd>{visibleLine(m[1]!)}</dd></div>
      <div><dt>{words.card.tool}</dt> <dd>{visibleLine(m[2]!)}</dd></div>
    </dl>
  );
}

/** Whose form it is. */
function Server({ name }: { name: unknown }) {
  if (typeof name !== "string") return null;
  return (
    <dl class="mcp" data-ui="mcp">
      <div><dt>{words.form.server}</dt> <dd>{visibleLine(name)}</dd></div>
    </dl>
  );
}

/** The payload as it came, fetched when it is asked for. */
export function RawRequest({ item }: { item: Item }) {
  const [all, setAll] = useState(false);
  const [wrong, setWrong] = useState("");
  const text = rawText(item);
  const fetchIt = (open: boolean) => {
    if (!open || text !== "") return;
    setWrong("");
    void lookUp(item.request.id).then(setWrong);
  };
  return (
    <details class="raw" data-ui="raw" onToggle={(e) => fetchIt(e.currentTarget.open)}>
      <summary>{words.card.raw}</summary>
      {wrong ? <p class="notice">{words.card.notFetched(wrong)}</p> : text === "" ? <p class="quiet">{words.card.fetching}</p> : <Raw text={text} opened={all} open={() => setAll(true)} />}
    </details>
  );
}

/** What a rule wants the approver to know. */
function RuleWords({ item: { request: r } }: { item: Item }) {
  const v = r.verdict;
  if (v?.action !== "ask" || !v.rule) return null;
  return (
    <p class="by-rule">
      {v.note ? <b>{visibleLine(v.note)}</b> : words.rules.asks}
      <small>
        <Paths text={words.rules.at(visibleLine(v.rule), visibleLine(v.file ?? ""))} />
      </small>
    </p>
  );
}

/** Fetches what the live message left out. Returns undefined when nothing is missing, "" while
 * it is on its way, else why it could not be had. */
export function useWhole(item: Item): [string | undefined, () => void] {
  const { request: r } = item;
  const needed = !item.whole && (r.partial || !!r.uninspectable || !r.shown || r.context?.before?.why === "partial");
  const [error, setError] = useState("");
  const fetchIt = () => {
    setError("");
    void lookUp(r.id).then(setError);
  };
  useEffect(() => {
    if (item.endedAt ? r.partial && item.whole?.state === "pending" : needed) fetchIt();
  }, [r.id, needed, item.endedAt]);
  return [needed ? error : undefined, fetchIt];
}

/** What could not be fetched, or is on its way; see useWhole. */
export function Missing({ why, retry }: { why: string | undefined; retry(): void }) {
  if (why === undefined) return null;
  return (
    <p class="notice">
      {why === "" ? words.card.fetching : words.card.notFetched(why)}
      {why !== "" && (
        <button type="button" class="link" onClick={retry}>
          {words.tryAgain}
        </button>
      )}
    </p>
  );
}

/** The payload itself, made visible; "" while it is not here. */
export function rawText(item: Item): string {
  const w = item.whole;
  if (w?.raw !== undefined) return visibleText(w.raw);
  if (w?.rawBase64 !== undefined) return visibleBytes(Uint8Array.from(atob(w.rawBase64), (c) => c.charCodeAt(0)));
  return "";
}
