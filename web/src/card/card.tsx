// One request: what is asked, whole. Nothing can be allowed that was not on the screen, and
// nothing is claimed that the broker has not said. answer.tsx is the foot with the buttons.
import type { RefObject } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { now } from "../broker/clock";
import { toolKind } from "../broker/tools";
import { readWhole } from "../queue/friction";
import { isForm, saysOf, shownOf, waits, type Item } from "../queue/model";
import { covered, noteLeft, useUnseen } from "../queue/seen";
import { words } from "../text/words";
import { byAgent, Head, Missing, Notices, rawText, RawRequest, useWhole } from "./about";
import { Foot, type Way } from "./answer";
import { LastWords } from "./context";
import { Parts } from "./fields";
import type { Value, Values } from "./form";
import { Effects, RiskStrip } from "./head";
import { useMore } from "./more";
import { hasChanges, partsOf, type Field } from "./parts";
import type { Choice } from "./question";
import { Reading } from "./reading";

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
  const fields = shown?.fields ?? none;
  const wants = kind === "question" || hasChanges(r.toolName, fields);
  const { script: more, failed: away } = useMore(wants);
  const questions = kind === "question" ? more?.questionsOf(source) : undefined;
  const elicits = isForm(r);
  const { script: forms, failed } = useMore(elicits);
  const form = useMemo(() => forms?.formOf(source), [forms, source.toolInput, source.uninspectable]);
  const filled = form && forms?.contentOf(form, values);
  const raw = item.whole?.uninspectable ? rawText(item) : undefined;
  const parts = useMemo(() => {
    if (wants && !more) return [];
    const all: Field[] = raw === undefined ? [...fields] : [...fields, { name: words.card.rawOf, kind: "json", text: raw }];
    return partsOf(r.toolName, questions && more ? more.besides(all) : form && forms ? forms.besidesForm(all) : all, source.context, more?.made);
  }, [fields, raw, r.toolName, !questions, !form, source.context, wants && !more]);
  const names = useMemo(() => [...(questions ? ["questions"] : []), ...parts.map((p) => p.name), ...(form && forms ? forms.formParts(form) : [])], [parts, !questions, form]);
  const unseen = useUnseen(card, foot, names, waits(item) && shown ? r.id : "");
  const [skipped, skip] = useState(false);
  const whole = readWhole(r, fields);
  const closed = parts.filter((p) => p.long && !opened.has(p.name));
  useLayoutEffect(() => noteLeft(r.id, closed.length, unseen.names.length));
  const open = (...more: string[]) => {
    const next = new Set([...opened, ...more]);
    setOpened(next);
    if (closed.every((p) => next.has(p.name))) skip(true); // counts only where it need not be read whole
  };
  const input = elicits ? filled && "content" in filled ? filled.content : undefined : kind === "plan" ? {} : questions && more?.updatedInput(source, questions, choices);

  const to = (what: string) => card.current?.querySelector(`[data-part] ${what}`)?.scrollIntoView({ block: "center" });
  const toUnseen = () => toPart(card.current, unseen.names[0]!, unseen.gap);
  let obstacle = "";
  let way: Way | undefined;
  const goThere = (go: () => void): Way => ({ label: words.card.next, go });
  if (missing !== undefined || !shown) obstacle = words.card.notHere;
  else if (wants && !more) obstacle = away ? words.later.failed : words.oneMoment;
  else if (whole && closed.length > 0) {
    obstacle = words.card.showFirst;
    way = goThere(() => to(".more"));
  }
  else if (whole && unseen.names.length > 0) {
    obstacle = words.card.unseen(unseen.names.length);
    way = goThere(toUnseen);
  }
  else if (!whole && closed.length > 0) {
    obstacle = words.card.folded(closed.length);
    way = { label: words.card.all, go: () => open(...closed.map((p) => p.name)) };
  }
  else if (!whole && !skipped && unseen.names.length > 0 && !unseen.end) {
    obstacle = words.card.below;
    way = goThere(() => {
      skip(true);
      toUnseen();
    });
  } else if (elicits && !filled) obstacle = failed ? words.later.failed : forms ? words.form.unknown : words.card.notHere;
  else if (filled && "wrong" in filled) {
    obstacle = filled.wrong;
    way = goThere(() => toPart(card.current, `form:${filled.at}`, () => 0));
  }
  else if (kind === "question" && !questions) obstacle = words.card.questionsUnknown;
  else if (questions && !input) {
    obstacle = questions.length > 1 ? words.card.answerAll : words.card.answerFirst;
    way = goThere(() => to("fieldset:not(:has(:checked))"));
  }

  return (
    <article class={`card${item.endedAt ? " over" : ""}`} data-ui="card" data-state={item.endedAt ? "over" : undefined} ref={card} tabIndex={-1} aria-labelledby={`verb-${r.id} session-${r.id}`} data-request={r.id}>
      <Drain item={item} />
      <RiskStrip item={item} />
      <Head item={item} says={saysOf(item)} />
      <Notices item={item} />
      {questions && more && (
        <div data-part="questions">
          <more.QuestionForm
            id={r.id}
            questions={questions}
            choices={choices}
            disabled={item.endedAt !== 0 || item.attempt?.phase === "sending"}
            choose={(i, c) => setChoices(Object.assign([...choices], { [i]: c }))}
          />
        </div>
      )}
      <Parts request={r} parts={parts.filter((p) => !byAgent(p))} opened={opened} open={open} />
      {form && forms && !(item.attempt?.phase === "taken" || r.outcome === "allowed" || r.outcome === "denied") && (
        <forms.FormView
          id={r.id}
          form={form}
          values={values}
          disabled={item.endedAt !== 0 || item.attempt?.phase === "sending"}
          set={(name, v) => setValues((old) => new Map(old).set(name, v))}
        />
      )}
      {!elicits && !questions && <Effects item={item} />}
      <Parts request={r} parts={parts.filter(byAgent)} opened={opened} open={open} />
      {!item.endedAt && <LastWords item={item} />}
      {elicits && !item.endedAt && <p class="quiet">{words.form.first}</p>}
      <Missing why={missing} retry={retry} />
      {r.detached && !item.endedAt && <p class="notice">{words.card.detached}</p>}
      {!item.endedAt && <Reading request={r} />}
      {!r.uninspectable && !item.endedAt && <RawRequest item={item} />}
      <Foot item={item} foot={foot} fields={fields} obstacle={obstacle} way={way} input={input} />
    </article>
  );
}

/** Brings the first piece of a part that was not seen to the top of the screen. */
function toPart(card: HTMLElement | null, name: string, gap: (name: string) => number): void {
  const part = [...(card?.querySelectorAll<HTMLElement>("[data-part]") ?? [])].find((p) => p.dataset["part"] === name);
  if (part) scrollBy({ top: part.getBoundingClientRect().top + gap(name) - covered() - 16 });
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
