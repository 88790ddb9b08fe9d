// A question of the agent is not a matter of yes or no: it is answered by a form.
import type { Request } from "../queue/model";
import { visibleText } from "../text/visible";
import { words } from "../text/words";
import { Rows, rowsOf } from "./exact";
import type { Field } from "./parts";

export interface Question {
  question: string;
  header: string;
  multiSelect: boolean;
  options: { label: string; description: string }[];
}

/** What was chosen for one question, before it is an answer. */
export interface Choice {
  labels: readonly string[];
  other: string;
  useOther: boolean;
}

const noChoice: Choice = { labels: [], other: "", useOther: false };

/** The questions, or undefined when they are not of the shape the agent is known to send. Then
 * there is no form, and the terminal has to answer. */
export function questionsOf(r: Request): Question[] | undefined {
  const list = r.uninspectable ? undefined : r.toolInput?.["questions"];
  if (!Array.isArray(list) || list.length === 0) return undefined;
  const out: Question[] = [];
  for (const q of list as unknown[]) {
    if (!isObject(q) || typeof q["question"] !== "string") return undefined;
    const options: Question["options"] = [];
    for (const o of Array.isArray(q["options"]) ? (q["options"] as unknown[]) : []) {
      if (!isObject(o) || typeof o["label"] !== "string") return undefined;
      // Nor can one of two options that have one label be chosen.
      if (options.some((p) => p.label === o["label"])) return undefined;
      options.push({ label: o["label"], description: typeof o["description"] === "string" ? o["description"] : "" });
    }
    // Answers go by the question's text, so two equal ones cannot both be answered.
    if (out.some((p) => p.question === q["question"])) return undefined;
    out.push({
      question: q["question"],
      header: typeof q["header"] === "string" ? q["header"] : "",
      multiSelect: q["multiSelect"] === true,
      options,
    });
  }
  return out;
}

function isObject(v: unknown): v is Record<string, unknown> {
  return typeof v === "object" && v !== null && !Array.isArray(v);
}

/** The answer as the agent takes it: a label, "A, B", or free text; "" while there is none. */
export function answerOf(q: Question, c: Choice): string {
  const other = c.useOther ? c.other.trim() : "";
  const labels = q.options.map((o) => o.label).filter((l) => c.labels.includes(l));
  return [...labels, ...(other ? [other] : [])].join(", ");
}

/** The whole new input: the original with the answers, or undefined while one is missing. */
export function updatedInput(r: Request, questions: Question[], choices: readonly (Choice | undefined)[]): Record<string, unknown> | undefined {
  const answers: [string, string][] = [];
  for (const [i, q] of questions.entries()) {
    const a = answerOf(q, choices[i] ?? noChoice);
    if (!a) return undefined;
    answers.push([q.question, a]);
  }
  return { ...r.toolInput, answers: Object.fromEntries(answers) };
}

/** Fields that the form does not show: it has no place for a header or description that is no
 * text, nor for a multiSelect that is neither true nor false. */
export function besides(fields: readonly Field[]): Field[] {
  return fields.filter((f) => {
    if (/^questions\[\d+\]\.multiSelect$/.test(f.name)) return f.kind !== "json" || !/^(true|false)$/.test(f.text);
    return f.kind === "json" || !/^questions\[\d+\]\.(question|header|options\[\d+\]\.(label|description))$/.test(f.name);
  });
}

interface Props {
  id: string;
  questions: Question[];
  choices: readonly (Choice | undefined)[];
  disabled: boolean;
  choose(i: number, c: Choice): void;
}

export function QuestionForm({ id, questions, choices, disabled, choose }: Props) {
  return (
    <div class="questions">
      {questions.map((q, i) => {
        const c = choices[i] ?? noChoice;
        const name = `${id}-${i}`;
        const kind = q.multiSelect ? "checkbox" : "radio";
        const toggle = (label: string) => {
          if (!q.multiSelect) return choose(i, { ...c, labels: [label], useOther: false });
          const labels = c.labels.includes(label) ? c.labels.filter((l) => l !== label) : [...c.labels, label];
          choose(i, { ...c, labels });
        };
        const useOther = (on: boolean, other = c.other) => choose(i, { labels: q.multiSelect || !on ? c.labels : [], other, useOther: on });
        return (
          <fieldset key={i} disabled={disabled}>
            <legend dir="auto">
              {q.header && <span class="chip">{visibleText(q.header)}</span>} {visibleText(q.question)}
            </legend>
            {q.options.map((o, n) => (
              <label class="option" data-ui="option" key={n}>
                <input type={kind} name={name} checked={c.labels.includes(o.label)} onChange={() => toggle(o.label)} />
                <span dir="auto">
                  <b class="prose"><Rows rows={rowsOf(visibleText(o.label))} /></b>
                  {o.description && <small>{visibleText(o.description)}</small>}
                </span>
              </label>
            ))}
            <label class="option" data-ui="option">
              <input type={kind} name={name} checked={c.useOther} onChange={() => useOther(q.multiSelect ? !c.useOther : true)} />
              <span>
                <b>{words.question.own}</b>
                <input
                  type="text"
                  class="other" data-ui="other"
                  aria-label={words.question.ownFor(visibleText(q.question))}
                  value={c.other}
                  onInput={(e) => useOther(e.currentTarget.value !== "" || !q.multiSelect, e.currentTarget.value)}
                />
              </span>
            </label>
          </fieldset>
        );
      })}
    </div>
  );
}
