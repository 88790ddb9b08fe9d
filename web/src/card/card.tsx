// One request: what is asked, whole. Nothing can be allowed that was not on the screen, and
// nothing is claimed that the broker has not said. answer.tsx is the foot with the buttons.
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { now } from "../broker/clock";
import { needsAnswer, toolKind } from "../broker/tools";
import { isForm, lastElement, repoName, sessionName, shownOf, since, type Item } from "../queue/model";
import { covered, useUnseen } from "../queue/seen";
import { lookUp } from "../queue/state";
import { Paths, Rich, Ticked } from "../text/rich";
import { visibleBytes, visibleLine, visibleText } from "../text/visible";
import { words } from "../text/words";
import { Foot } from "./answer";
import { Parts, Raw } from "./fields";
import type { Value, Values } from "./form";
import { useForms } from "./forms";
import { changedLines, partsOf, type Field, type Part } from "./parts";
import { QuestionForm, besides, questionsOf, updatedInput, type Choice } from "./question";

const none: readonly Field[] = [];

export function Card({ item }: { item: Item }) {
  const { request: r } = item;
  const card = useRef<HTMLElement>(null);
  const foot = useRef<HTMLDivElement>(null);
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const [choices, setChoices] = useState<readonly (Choice | undefined)[]>([]);
  const [values, setValues] = useState<Values>(new Map<string, Value | undefined>());
  const [missing, retry] = useWhole(item);
  useFocus(card, foot, item.endedAt !== 0 || item.attempt?.phase === "taken");

  const shown = missing !== undefined ? undefined : shownOf(item);
  const source = item.whole ?? r;
  const kind = toolKind(r.toolName);
  const questions = kind === "question" ? questionsOf(source) : undefined;
  const elicits = isForm(r);
  const { forms, failed } = useForms(elicits);
  const form = useMemo(() => forms?.formOf(source), [forms, source.toolInput, source.uninspectable]);
  const filled = form && forms?.contentOf(form, values);
  const fields = shown?.fields ?? none;
  const raw = item.whole?.uninspectable ? rawText(item) : undefined;
  const parts = useMemo(() => {
    const all: Field[] = raw === undefined ? [...fields] : [...fields, { name: words.card.rawOf, kind: "json", text: raw }];
    return partsOf(r.toolName, questions ? besides(all) : form && forms ? forms.besidesForm(all) : all);
  }, [fields, raw, r.toolName, !questions, !form]);
  const names = useMemo(() => [...(questions ? ["questions"] : []), ...parts.map((p) => p.name), ...(form && forms ? forms.formParts(form) : [])], [parts, !questions, form]);
  const unseen = useUnseen(card, foot, names);
  const open = (name: string) => setOpened(new Set(opened).add(name));
  const closed = parts.filter((p) => p.long && !opened.has(p.name)).length;
  const input = elicits ? filled && "content" in filled ? filled.content : undefined : kind === "plan" ? {} : questions && updatedInput(source, questions, choices);

  const to = (what: string) => card.current?.querySelector(`[data-part] ${what}`)?.scrollIntoView({ block: "center" });
  let obstacle = "";
  let goThere: (() => void) | undefined;
  if (missing !== undefined || !shown) obstacle = words.card.notHere;
  else if (closed > 0) {
    obstacle = words.card.showFirst;
    goThere = () => to(".more");
  }
  else if (unseen.names.length > 0) {
    obstacle = words.card.unseen(unseen.names.length);
    goThere = () => toPart(card.current, unseen.names[0]!, unseen.gap);
  } else if (elicits && !filled) obstacle = failed ? words.later.failed : forms ? words.form.unknown : words.card.notHere;
  else if (filled && "wrong" in filled) {
    obstacle = filled.wrong;
    goThere = () => toPart(card.current, `form:${filled.at}`, () => 0);
  }
  else if (kind === "question" && !questions) obstacle = words.card.questionsUnknown;
  else if (questions && !input) {
    obstacle = questions.length > 1 ? words.card.answerAll : words.card.answerFirst;
    goThere = () => to("fieldset:not(:has(:checked))");
  }

  return (
    <article class={`card${item.endedAt ? " over" : ""}`} data-ui="card" data-state={item.endedAt ? "over" : undefined} ref={card} tabIndex={-1} aria-labelledby={`verb-${r.id}`} data-request={r.id}>
      <Drain item={item} />
      <header>
        <Where item={item} />
        <h3 id={`verb-${r.id}`}>{verbOf(item, parts)}</h3>
        {elicits ? <Server name={source.toolInput?.["mcp_server_name"]} /> : <Mcp tool={r.toolName} />}
      </header>
      {r.uninspectable && (
        <p class="notice">
          <Rich text={words.card.uninspectable} put={{ why: visibleLine(r.uninspectable) }} />
        </p>
      )}
      <RuleWords item={item} />
      {questions && (
        <div data-part="questions">
          <QuestionForm
            id={r.id}
            questions={questions}
            choices={choices}
            disabled={item.endedAt !== 0 || item.attempt?.phase === "sending"}
            choose={(i, c) => setChoices(Object.assign([...choices], { [i]: c }))}
          />
        </div>
      )}
      <Parts request={r} parts={parts} opened={opened} open={open} />
      {form && forms && !(item.attempt?.phase === "taken" || r.outcome === "allowed" || r.outcome === "denied") && (
        <forms.FormView
          id={r.id}
          form={form}
          values={values}
          disabled={item.endedAt !== 0 || item.attempt?.phase === "sending"}
          set={(name, v) => setValues((old) => new Map(old).set(name, v))}
        />
      )}
      {elicits && !item.endedAt && <p class="quiet">{words.form.first}</p>}
      {missing !== undefined && (
        <p class="notice">
          {missing === "" ? words.card.fetching : words.card.notFetched(missing)}
          {missing !== "" && (
            <button type="button" class="link" onClick={retry}>
              {words.tryAgain}
            </button>
          )}
        </p>
      )}
      {r.detached && !item.endedAt && <p class="notice">{words.card.detached}</p>}
      {!r.uninspectable && !item.endedAt && <RawRequest item={item} />}
      <Foot item={item} foot={foot} fields={fields} obstacle={obstacle} goThere={goThere} input={input} />
    </article>
  );
}

/** Brings the first piece of a part that was not seen to the top of the screen. */
function toPart(card: HTMLElement | null, name: string, gap: (name: string) => number): void {
  const part = [...(card?.querySelectorAll<HTMLElement>("[data-part]") ?? [])].find((p) => p.dataset["part"] === name);
  if (part) scrollBy({ top: part.getBoundingClientRect().top + gap(name) - covered() - 16 });
}

/** The broker's sentence; of an edit the page knows how many lines it changes. */
function verbOf(item: Item, parts: readonly Part[]): string {
  const verb = shownOf(item)?.verb;
  const lines = changedLines(parts);
  const file = lastElement(shownOf(item)?.fields.find((f) => f.name === "file_path")?.text);
  if (lines > 0 && file && verb === `Edit ${file}`) return words.card.editLines(lines, file);
  return verb ?? words.card.use(visibleLine(item.request.toolName));
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
function RawRequest({ item }: { item: Item }) {
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

/** What a rule wants the approver to know, and which rules would have answered. */
function RuleWords({ item: { request: r } }: { item: Item }) {
  const v = r.verdict;
  if (!v || v.action !== "ask") return null;
  const shadow = v.shadow?.[0];
  return (
    <>
      {v.rule && (
        <p class="by-rule">
          {v.note ? <b>{visibleLine(v.note)}</b> : words.rules.asks}
          <small>
            <Paths text={words.rules.at(visibleLine(v.rule), visibleLine(v.file ?? ""))} />
          </small>
        </p>
      )}
      {!v.rule && v.reason && !needsAnswer(r.toolName) && (
        <p class="by-rule quiet">
          <Ticked text={words.rules.notAnswered(visibleLine(v.reason))} />
        </p>
      )}
      {shadow && (
        <p class="by-rule quiet">{words.rules.trial(visibleLine(shadow.rule), shadow.action)}</p>
      )}
    </>
  );
}

/** Fetches what the live message left out. Returns undefined when nothing is missing, "" while
 * it is on its way, else why it could not be had. */
function useWhole(item: Item): [string | undefined, () => void] {
  const { request: r } = item;
  const needed = !item.whole && (r.partial || !!r.uninspectable || !r.shown);
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

/** The payload itself, made visible; "" while it is not here. */
function rawText(item: Item): string {
  const w = item.whole;
  if (w?.raw !== undefined) return visibleText(w.raw);
  if (w?.rawBase64 !== undefined) return visibleBytes(Uint8Array.from(atob(w.rawBase64), (c) => c.charCodeAt(0)));
  return "";
}

function Where({ item: { request: r } }: { item: Item }) {
  const repo = repoName(r);
  const head = r.repo?.head?.slice(0, 8);
  return (
    <div class="where">
      <div>
        <b>{visibleLine(sessionName(r))}</b>
        {repo && <span>{visibleLine(repo)}</span>}
        {(r.repo?.branch || head) && <span class="branch">{visibleLine(r.repo?.branch || words.card.atCommit(head!))}</span>}
        {r.host && <span>{visibleLine(r.host)}</span>}
        {r.agentLabel && <span>{visibleLine(r.agentLabel)}</span>}
        {r.sessionId.startsWith("simulated-") && <span class="chip sample" title={words.card.sampleHint}>{words.card.sample}</span>}
        {(r.agentId || r.agentType) && <span class="chip">{words.card.subagent(visibleLine(r.agentType ?? ""))}</span>}
      </div>
      <Age at={r.createdAt} />
    </div>
  );
}

function Age({ at }: { at: string }) {
  return (
    <time class="age" data-ui="age" dateTime={at}>
      {since(Math.max(0, now.value - Date.parse(at)))}
    </time>
  );
}

/** The time that is left, as a bar that drains and, near its end, as a number. */
function Drain({ item }: { item: Item }) {
  const { request: r } = item;
  const from = Date.parse(r.createdAt);
  const to = Date.parse(r.deadline);
  const left = item.endedAt ? 0 : Math.max(0, Math.min(1, (to - now.value) / Math.max(1, to - from)));
  const seconds = Math.max(0, Math.ceil((to - now.value) / 1000));
  const soon = !item.endedAt && seconds <= 60;
  return (
    <div class={soon ? "drain soon" : "drain"} data-ui="drain" data-state={soon ? "soon" : undefined}>
      <i style={{ transform: `scaleX(${left.toFixed(4)})` }} />
      {soon && <span>{words.card.secondsLeft(seconds)}</span>}
    </div>
  );
}

/** Keeps the keyboard's place: at the outcome when the buttons go, at the next card when the
 * card goes. Never on a button. */
function useFocus(card: RefObject<HTMLElement | null>, foot: RefObject<HTMLElement | null>, over: boolean): void {
  const inside = useRef(false);
  inside.current = !!card.current?.contains(document.activeElement);
  useLayoutEffect(() => {
    if (over && inside.current) foot.current?.focus({ preventScroll: true });
  }, [over]);
  useLayoutEffect(() => {
    const element = card.current;
    return () => {
      if (!element?.contains(document.activeElement)) return;
      const cards = [...document.querySelectorAll<HTMLElement>(".card")];
      const next = cards[cards.indexOf(element) + 1] ?? cards[cards.indexOf(element) - 1];
      (next ?? document.querySelector<HTMLElement>("main"))?.focus({ preventScroll: true });
    };
  }, []);
}
