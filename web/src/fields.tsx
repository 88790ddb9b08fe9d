// A tool's input, field by field. Every text here was made visible by the server and goes into
// text nodes only.
import type { ComponentChildren } from "preact";
import type { Shown } from "./types.gen";
import { words } from "./words";

export type Field = Shown["fields"][number];

const maxLines = 30;
const maxChars = 3000;
const headLines = 14;
const tailLines = 8;
const headChars = 1600;
const tailChars = 900;
const maxMarkedLines = 2000; // of a diff; each is an element

/** Too long to be shown at once: then head and tail are, and the rest on demand. */
export function isLong(text: string): boolean {
  return text.length > maxChars || lineCount(text) > maxLines;
}

export function lineCount(text: string): number {
  let n = 1;
  for (let i = text.indexOf("\n"); i >= 0; i = text.indexOf("\n", i + 1)) n++;
  return text.endsWith("\n") ? n - 1 : n;
}

/** Cuts a long text: by lines while they are short, else by characters, never inside one. */
export function headAndTail(text: string): { head: string; tail: string; hidden: string } {
  const lines = text.split("\n");
  const head = lines.slice(0, headLines).join("\n");
  const tail = lines.slice(-tailLines).join("\n");
  if (lines.length > maxLines && head.length <= maxChars && tail.length <= maxChars) {
    return { head, tail, hidden: words.fields.lines(lines.length - headLines - tailLines) };
  }
  let from = headChars;
  let to = text.length - tailChars;
  if (isLowSurrogate(text, from)) from--;
  if (isLowSurrogate(text, to)) to--;
  return { head: text.slice(0, from), tail: text.slice(to), hidden: words.fields.characters(to - from) };
}

function isLowSurrogate(text: string, i: number): boolean {
  const c = text.charCodeAt(i);
  return c >= 0xdc00 && c < 0xe000;
}

// A Map: an object would take the member "constructor" for a label of its own.
const labels: ReadonlyMap<string, string> = new Map(Object.entries(words.fields.labels));
const ours: ReadonlySet<string> = new Set(labels.values());

/** What a field is called on the page. No two names are called the same: a member that is
 * named like one of our words stands in quotes. */
export function label(name: string): string {
  const edit = /^edits\[(\d+)\]\.(.+)$/.exec(name);
  if (edit) return words.fields.numbered(Number(edit[1]) + 1, label(edit[2]!));
  return labels.get(name) ?? (ours.has(name) ? `"${name}"` : name);
}

interface Props {
  fields: readonly Field[];
  /** Names of long fields that were opened. */
  opened: ReadonlySet<string>;
  open(name: string): void;
}

export function Fields({ fields, opened, open }: Props) {
  return (
    <div class="fields">
      {fields.map((f) => (
        <FieldView key={f.name} field={f} whole={opened.has(f.name) || !isLong(f.text)} open={() => open(f.name)} />
      ))}
    </div>
  );
}

function FieldView({ field: f, whole, open }: { field: Field; whole: boolean; open(): void }) {
  const content = whole ? <Block field={f} text={f.text} /> : <Collapsed field={f} open={open} />;
  if (f.kind === "words") {
    return (
      <div class="field words">
        <span class="label">{words.fields.agentSays}</span>
        {content}
      </div>
    );
  }
  if (f.name === "command" && f.kind === "code") return <div class="field">{content}</div>;
  const inline: Readonly<Record<string, number>> = { text: 80, json: 40, path: 200, url: 200 };
  const short = whole && f.text.length <= (inline[f.kind] ?? 0) && f.text !== "" && !f.text.includes("\n");
  return (
    <div class={short ? "field short" : "field"}>
      <span class="label">{label(f.name)}</span>
      {content}
    </div>
  );
}

function Collapsed({ field, open }: { field: Field; open(): void }) {
  const { head, tail, hidden } = headAndTail(field.text);
  const lines = lineCount(field.text);
  return (
    <>
      <Block field={field} text={head} />
      <button type="button" class="more" onClick={open}>
        {words.fields.hidden(hidden, lines)}
      </button>
      <Block field={field} text={tail} />
    </>
  );
}

function Block({ field, text }: { field: Field; text: string }) {
  if (text === "") return <span class="nothing">{words.fields.empty}</span>;
  if (field.kind === "words") return <q dir="auto">{text}</q>;
  if (field.kind === "text") return <div class="prose" dir="auto">{text}</div>;
  if (field.kind === "diff-old" || field.kind === "diff-new") return <Diff kind={field.kind} text={text} />;
  return <pre class={field.kind}>{text}</pre>;
}

function Diff({ kind, text }: { kind: string; text: string }) {
  const sign = kind === "diff-old" ? "−" : "+";
  const lines = (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
  let body: ComponentChildren = text;
  if (lines.length <= maxMarkedLines) {
    body = lines.map((l, i) => (
      <span class="line" key={i} data-sign={sign}>
        {l + "\n"}
      </span>
    ));
  }
  return <pre class={kind}>{body}</pre>;
}
