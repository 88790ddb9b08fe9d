// One request: what is asked, and the two buttons. Nothing can be allowed that was not shown
// whole, and nothing is claimed that the broker has not said.
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useArm } from "./arm";
import { clockSkew, now } from "./clock";
import { Fields, isLong, type Field } from "./fields";
import { outcomeLine, repoName, sessionName, shownOf, since, type Item } from "./model";
import { QuestionForm, besides, questionsOf, updatedInput, type Choice } from "./question";
import { mayDecide } from "./session";
import { answer, lookUp } from "./state";
import { visibleBytes, visibleLine, visibleText } from "./visible";

export function Card({ item }: { item: Item }) {
  const { request: r } = item;
  const card = useRef<HTMLElement>(null);
  const foot = useRef<HTMLDivElement>(null);
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const [choices, setChoices] = useState<readonly (Choice | undefined)[]>([]);
  const [missing, retry] = useWhole(item);
  useFocus(card, foot, item.endedAt !== 0 || item.attempt?.phase === "taken");

  const shown = missing !== undefined ? undefined : shownOf(item);
  const source = item.whole ?? r;
  const questions = r.toolName === "AskUserQuestion" ? questionsOf(source) : undefined;
  const all: Field[] = [...(shown?.fields ?? []), ...rawField(item)];
  const fields = questions ? besides(all) : all;
  const closed = fields.filter((f) => isLong(f.text) && !opened.has(f.name)).length;
  const input = r.toolName === "ExitPlanMode" ? {} : questions && updatedInput(source, questions, choices);

  let obstacle = "";
  if (missing !== undefined || !shown) obstacle = "Not all of it is here yet.";
  else if (closed > 0) obstacle = "Show all of it before you allow it.";
  else if (r.toolName === "AskUserQuestion" && !questions) obstacle = "These questions cannot be answered here; answer in the terminal, or deny.";
  else if (questions && !input) obstacle = questions.length > 1 ? "Answer every question first." : "Choose an answer first.";

  return (
    <article class={`card${item.endedAt ? " over" : ""}`} ref={card} tabIndex={-1} aria-labelledby={`verb-${r.id}`}>
      <Drain item={item} />
      <header>
        <Where item={item} />
        <h3 id={`verb-${r.id}`}>{shownOf(item)?.verb ?? `Use ${visibleLine(r.toolName)}`}</h3>
      </header>
      {r.uninspectable && (
        <p class="notice">
          <b>Look closely.</b> This request cannot be shown faithfully by its fields: {visibleLine(r.uninspectable)}. What the agent makes of it may be something else. The raw text is below.
        </p>
      )}
      <RuleWords item={item} />
      {questions && (
        <QuestionForm
          id={r.id}
          questions={questions}
          choices={choices}
          disabled={item.endedAt !== 0 || item.attempt?.phase === "sending"}
          choose={(i, c) => setChoices(Object.assign([...choices], { [i]: c }))}
        />
      )}
      <Fields fields={fields} opened={opened} open={(name) => setOpened(new Set(opened).add(name))} />
      {missing !== undefined && (
        <p class="notice">
          {missing === "" ? "Fetching the whole request…" : `The whole request could not be fetched: ${missing}. `}
          {missing !== "" && (
            <button type="button" class="link" onClick={retry}>
              Try again
            </button>
          )}
        </p>
      )}
      {r.detached && !item.endedAt && <p class="notice">The agent is not connected; waiting for it to come back.</p>}
      <div class="foot" ref={foot} tabIndex={-1}>
        <Foot item={item} foot={foot} obstacle={obstacle} input={input} allow={questions ? "Answer" : r.toolName === "ExitPlanMode" ? "Approve" : "Allow"} />
      </div>
    </article>
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
          {v.note ? <b>{visibleLine(v.note)}</b> : "A rule wants you to decide."}
          <small>
            rule {visibleLine(v.rule)}
            {v.file && ` in ${visibleLine(v.file)}`}
          </small>
        </p>
      )}
      {!v.rule && v.reason && <p class="by-rule quiet">Not answered by a rule: {visibleLine(v.reason)}</p>}
      {shadow && (
        <p class="by-rule quiet">
          On trial: rule {visibleLine(shadow.rule)} would have {shadow.action === "allow" ? "allowed" : shadow.action === "deny" ? "denied" : "asked about"} it.
        </p>
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
    if (needed && !item.endedAt) fetchIt();
  }, [r.id, needed]);
  return [needed ? error : undefined, fetchIt];
}

/** Of an uninspectable request the payload itself. */
function rawField(item: Item): Field[] {
  const w = item.whole;
  if (!w?.uninspectable) return [];
  let text = "";
  if (w.raw !== undefined) text = visibleText(w.raw);
  else if (w.rawBase64 !== undefined) text = visibleBytes(Uint8Array.from(atob(w.rawBase64), (c) => c.charCodeAt(0)));
  return [{ name: "Raw text of the request", kind: "json", text }];
}

function Where({ item: { request: r } }: { item: Item }) {
  const repo = repoName(r);
  const head = r.repo?.head?.slice(0, 8);
  return (
    <div class="where">
      <b>{visibleLine(sessionName(r))}</b>
      {repo && <span>{visibleLine(repo)}</span>}
      {(r.repo?.branch || head) && <span class="branch">{visibleLine(r.repo?.branch || `at ${head}`)}</span>}
      {r.host && <span>{visibleLine(r.host)}</span>}
      {r.agentLabel && <span>{visibleLine(r.agentLabel)}</span>}
      {(r.agentId || r.agentType) && <span class="chip">subagent{r.agentType ? ` ${visibleLine(r.agentType)}` : ""}</span>}
      <Age at={r.createdAt} />
    </div>
  );
}

function Age({ at }: { at: string }) {
  return (
    <time class="age" dateTime={at}>
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
    <div class={soon ? "drain soon" : "drain"}>
      <i style={{ transform: `scaleX(${left.toFixed(4)})` }} />
      {soon && <span>{seconds} s left</span>}
    </div>
  );
}

interface FootProps {
  item: Item;
  foot: RefObject<HTMLElement | null>;
  /** Why it cannot be allowed now; "" when it can. */
  obstacle: string;
  input: Record<string, unknown> | undefined;
  allow: string;
}

function Foot({ item, foot, obstacle, input, allow }: FootProps) {
  const { request: r, attempt } = item;
  const [words, setWords] = useState<string>();
  const area = useRef<HTMLTextAreaElement>(null);
  const { armed, ready } = useArm(foot);
  useEffect(() => {
    if (words === "") area.current?.focus();
  }, [words !== undefined]);

  const line = outcomeLine(item, now.value - clockSkew);
  if (item.endedAt || attempt?.phase === "taken") {
    return (
      <p class={`outcome ${line?.tone ?? "gone"}`} role="status">
        {line?.text ?? "Over."}
      </p>
    );
  }
  if (!mayDecide()) return <p class="outcome gone">This device may look, not decide.</p>;

  const sending = attempt?.phase === "sending" ? attempt.behavior : undefined;
  const message = words?.trim() ?? "";
  // The agent gets no words with a yes: Allow would lose them.
  const blocked = !!obstacle || !!message;
  const deny = () => {
    if (!sending && ready()) void answer(r, { behavior: "deny", ...(message ? { message } : {}) });
  };
  const permit = () => {
    if (!sending && !blocked && ready()) void answer(r, { behavior: "allow", ...(input ? { updatedInput: input } : {}) });
  };
  const waiting = !armed || !!sending;
  return (
    <>
      {attempt?.phase === "failed" && (
        <p class="outcome bad" role="alert">
          {attempt.why}
        </p>
      )}
      {obstacle && <p class="obstacle" id={`obstacle-${r.id}`}>{obstacle}</p>}
      {words === undefined ? (
        <button type="button" class="third" disabled={!!sending} onClick={() => setWords("")}>
          Deny with words…
        </button>
      ) : (
        <label class="reply">
          <span class="label">Words for the agent, with a denial only</span>
          <textarea ref={area} rows={3} value={words} disabled={!!sending} placeholder="What should it do instead?" onInput={(e) => setWords(e.currentTarget.value)} />
        </label>
      )}
      <div class="two">
        <button type="button" class={`deny${sending === "deny" ? " busy" : ""}`} aria-disabled={waiting} onClick={deny}>
          {message ? "Send back" : "Deny"}
        </button>
        <button
          type="button"
          class={`allow${sending === "allow" ? " busy" : ""}`}
          aria-disabled={waiting || blocked}
          {...(obstacle ? { "aria-describedby": `obstacle-${r.id}` } : {})}
          onClick={permit}
        >
          {allow}
        </button>
      </div>
      <p class="sending" role="status">{sending ? "Sending…" : ""}</p>
    </>
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
