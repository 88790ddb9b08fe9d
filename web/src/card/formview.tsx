// The form of an MCP server. Every choice and every default is on the screen, and beside a title that
// says something else stands what is really sent.
import { visibleLine, visibleText } from "../text/visible";
import { words } from "../text/words";
import { Rows, rowsOf } from "./exact";
import { closely, valueOf, type Entry, type Form, type Value, type Values } from "./form";
export { besidesForm, contentOf, formOf, formParts } from "./form";

/** A text from the server, in which no two look the same. */
function Text({ of }: { of: string }) {
  return <span class="prose"><Rows rows={rowsOf(visibleText(of))} /></span>;
}

/** The same of what has one line. What is empty says so in words that no text of the server's looks like. */
function Line({ of }: { of: string }) {
  if (of === "") return <span class="nothing" data-ui="nothing">{words.fields.empty}</span>;
  return <span class="prose"><Rows rows={rowsOf(visibleLine(of))} /></span>;
}

interface Props {
  id: string;
  form: Form;
  values: Values;
  disabled: boolean;
  set(name: string, value: Value | undefined): void;
}

export function FormView({ id, form, values, disabled, set }: Props) {
  return (
    <div class="questions form" data-ui="form">
      <div class="heading" data-part="form:">
        {form.title && <p dir="auto"><b><Text of={form.title} /></b></p>}
        {form.description && <p dir="auto"><Text of={form.description} /></p>}
        {form.entries.length === 0 && <p class="quiet">{words.form.nothing}</p>}
      </div>
      {form.entries.map((e, i) => (
        <Row key={e.name} id={`${id}-form-${i}`} part={`form:${i}`} entry={e} twice={form.entries.some((o) => o !== e && o.title === e.title)} value={valueOf(e, values)} disabled={disabled} set={(v) => set(e.name, v)} />
      ))}
    </div>
  );
}

interface RowProps {
  id: string;
  part: string;
  entry: Entry;
  /** Another entry has the same title: then its name tells them apart. */
  twice: boolean;
  value: Value | undefined;
  disabled: boolean;
  set(value: Value | undefined): void;
}

function Row({ id, part, entry: e, twice, value, disabled, set }: RowProps) {
  const choice = e.kind === "one" || e.kind === "several" || e.kind === "boolean";
  const head = (
    <>
      <span dir="auto">{e.title ? <Text of={e.title} /> : <Line of={e.name} />}</span>{" "}
      {e.title && e.title !== e.name && twice && <small>(<Line of={e.name} />)</small>}{" "}
      <small>{[e.required ? words.form.required : words.form.optional, hint(e)].filter(Boolean).join(" · ")}</small>
    </>
  );
  const about = e.description && <small class="about" id={`${id}-about`} dir="auto"><Text of={e.description} /></small>;
  if (!choice) {
    const whole = closely(value, e);
    return (
      <div class="answer-row" data-ui="entry" data-part={part}>
        <label for={id}>{head}</label>
        {about}
        <Box id={id} entry={e} value={typeof value === "string" ? value : ""} disabled={disabled} set={set} />
        {whole && (
          <>
            <p class="remark">{words.form.closely}</p>
            <pre><Rows rows={rowsOf(whole)} /></pre>
          </>
        )}
      </div>
    );
  }
  return (
    <fieldset disabled={disabled} data-part={part}>
      <legend>{head}</legend>
      {about}
      <Choices id={id} entry={e} value={value} set={set} />
    </fieldset>
  );
}

function Box({ id, entry: e, value, disabled, set }: Omit<RowProps, "value" | "part" | "twice"> & { value: string }) {
  const common = {
    id, value, disabled, class: "other", spellcheck: false, autocomplete: "off", autocapitalize: "off",
    ...(e.description ? { "aria-describedby": `${id}-about` } : {}), ...(e.required ? { "aria-required": true } : {}),
  } as const;
  if (e.kind === "text" && e.format === "") {
    return <textarea {...common} rows={Math.min(12, value.split("\n").length)} onInput={(ev) => set(ev.currentTarget.value)} />;
  }
  if (e.format === "date") return <input {...common} type="date" onInput={(ev) => set(ev.currentTarget.value)} />;
  const mode = e.kind === "integer" ? "numeric" : e.kind === "number" ? "decimal" : e.format === "email" ? "email" : e.format === "uri" ? "url" : "text";
  return <input {...common} type="text" inputMode={mode} onInput={(ev) => set(ev.currentTarget.value)} />;
}

function Choices({ id, entry: e, value, set }: Omit<RowProps, "disabled" | "part" | "twice">) {
  // Of two options that look the same both say what they send.
  const sentOf = (o: Entry["options"][number]) => (alike(o.title, o.value) && e.options.filter((p) => (p.title || p.value) === o.title).length === 1 ? {} : { sent: o.value });
  if (e.kind === "several") {
    const chosen = Array.isArray(value) ? (value as readonly string[]) : [];
    const toggle = (v: string) => set(e.options.map((o) => o.value).filter((o) => (o === v ? !chosen.includes(o) : chosen.includes(o))));
    return <>{e.options.map((o, i) => <Option key={i} kind="checkbox" name={id} title={o.title} {...sentOf(o)} checked={chosen.includes(o.value)} choose={() => toggle(o.value)} />)}</>;
  }
  const options: { value: Value; title: string; sent?: string }[] =
    e.kind === "boolean"
      ? [{ value: true, title: words.form.yes }, { value: false, title: words.form.no }]
      : e.options.map((o) => ({ value: o.value, title: o.title, ...sentOf(o) }));
  return (
    <>
      {options.map((o, i) => <Option key={i} kind="radio" name={id} title={o.title} {...(o.sent === undefined ? {} : { sent: o.sent })} checked={value === o.value} choose={() => set(o.value)} />)}
      {!e.required && <Option kind="radio" name={id} title="" checked={value === undefined} choose={() => set(undefined)} />}
    </>
  );
}

interface OptionProps {
  kind: "radio" | "checkbox";
  name: string;
  title: string;
  /** What is sent, where that is a text of the server's. */
  sent?: string;
  checked: boolean;
  choose(): void;
}

/** With neither a title nor something to send it is the choice not to answer. */
function Option({ kind, name, title, sent, checked, choose }: OptionProps) {
  return (
    <label class="option" data-ui="option">
      <input type={kind} name={name} checked={checked} onChange={choose} />
      <span dir="auto">
        {title ? <b><Text of={title} /></b> : sent === undefined ? <span class="nothing" data-ui="nothing">{words.form.none}</span> : <b><Line of={sent} /></b>}
        {title && sent !== undefined && title !== sent && <small>{words.form.sends} <Line of={sent} /></small>}
      </span>
    </label>
  );
}

/** "Staging" says what "staging" does: the same letters, in plain ones. */
function alike(title: string, sent: string): boolean {
  return title !== "" && (title === sent || (/^[ -~]*$/.test(title + sent) && title.toLowerCase() === sent.toLowerCase()));
}

/** What is wanted, in words. */
function hint(e: Entry): string {
  return words.form.wants(e.kind, e.format, e.least, e.most);
}
