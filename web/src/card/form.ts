// What an MCP server wants filled in, as plain functions. The broker holds a form only when it
// knows every word of its schema, and checks the answer against it once more: the agent does not.
import { isForm, type Request } from "../queue/model";
import { visibleLine, visibleText } from "../text/visible";
import { words } from "../text/words";
import type { Field } from "./parts";

export type Kind = "text" | "number" | "integer" | "boolean" | "one" | "several";

/** One thing that is asked for. */
export interface Entry {
  name: string;
  title: string;
  description: string;
  kind: Kind;
  format: string;
  options: { value: string; title: string }[];
  required: boolean;
  least: number | undefined;
  most: number | undefined;
  /** What the server proposes. */
  initial: Value | undefined;
}

export interface Form {
  title: string;
  description: string;
  entries: Entry[];
}

/** A text as it was typed, what was chosen, or a yes or no. */
export type Value = string | boolean | readonly string[];
export type Values = ReadonlyMap<string, Value | undefined>;

/** The form, or undefined where it is of no known shape: then it is not answered here. */
export function formOf(r: Request): Form | undefined {
  const schema = isForm(r) && !r.uninspectable ? r.toolInput?.["requested_schema"] : undefined;
  if (!isObject(schema) || !isObject(schema["properties"])) return undefined;
  const required = Array.isArray(schema["required"]) ? (schema["required"] as unknown[]) : [];
  const entries: Entry[] = [];
  for (const [name, p] of Object.entries(schema["properties"])) {
    const e = isObject(p) ? entryOf(name, p, required.includes(name)) : undefined;
    if (!e) return undefined;
    entries.push(e);
  }
  return { title: text(schema["title"]), description: text(schema["description"]), entries };
}

function entryOf(name: string, p: Record<string, unknown>, required: boolean): Entry | undefined {
  const bounds: Record<string, [string, string]> = { string: ["minLength", "maxLength"], array: ["minItems", "maxItems"], number: ["minimum", "maximum"], integer: ["minimum", "maximum"] };
  const type = text(p["type"]);
  const [least, most] = bounds[type] ?? ["", ""];
  const choice = type === "array" ? p["items"] : p;
  if (!isObject(choice)) return undefined;
  const options = optionsOf(choice, p["enumNames"]);
  const kinds: Record<string, Kind> = { string: options ? "one" : "text", array: "several", number: "number", integer: "integer", boolean: "boolean" };
  const kind = kinds[type];
  if (!kind || (kind === "several" && !options)) return undefined;
  const d = p["default"];
  return {
    name, title: text(p["title"]), description: text(p["description"]), kind, format: text(p["format"]), options: options ?? [], required,
    least: count(p[least]), most: count(p[most]),
    initial: d === undefined ? undefined : typeof d === "boolean" ? d : Array.isArray(d) ? d.map(String) : String(d),
  };
}

function optionsOf(p: Record<string, unknown>, names: unknown): Entry["options"] | undefined {
  if (Array.isArray(p["enum"])) {
    const titles = Array.isArray(names) ? (names as unknown[]) : [];
    return (p["enum"] as unknown[]).map((v, i) => ({ value: String(v), title: typeof titles[i] === "string" ? titles[i] : "" }));
  }
  const list = p["oneOf"] ?? p["anyOf"];
  return Array.isArray(list) ? (list as unknown[]).filter(isObject).map((o) => ({ value: text(o["const"]), title: text(o["title"]) })) : undefined;
}

function isObject(v: unknown): v is Record<string, unknown> {
  return typeof v === "object" && v !== null && !Array.isArray(v);
}

function text(v: unknown): string {
  return typeof v === "string" ? v : "";
}

function count(v: unknown): number | undefined {
  return typeof v === "number" ? v : undefined;
}

/** The parts that have to be seen: the heading, if there is one, and each entry. */
export function formParts(form: Form): string[] {
  const heading = form.title || form.description || form.entries.length === 0;
  return [...(heading ? ["form:"] : []), ...form.entries.map((_, i) => `form:${i}`)];
}

/** What stands in an entry now. */
export function valueOf(e: Entry, values: Values): Value | undefined {
  return values.has(e.name) ? values.get(e.name) : e.initial;
}

/** What is sent to the server, or the first thing that is wrong with it, and in which entry. */
export function contentOf(form: Form, values: Values): { content: Record<string, unknown> } | { wrong: string; at: number } {
  const out: [string, unknown][] = [];
  for (const [at, e] of form.entries.entries()) {
    const v = valueOf(e, values);
    const what = visibleLine(e.title || e.name);
    if (v === undefined || (v === "" && e.kind !== "one") || (Array.isArray(v) && v.length === 0 && !e.required)) {
      if (e.required) return { wrong: words.form.missing(what), at };
      continue;
    }
    const sent = e.kind === "number" || e.kind === "integer" ? numberOf(e, v) : v;
    if (sent === undefined) return { wrong: e.kind === "integer" ? words.form.notWhole(what) : words.form.notNumber(what), at };
    const size = typeof sent === "number" ? sent : typeof sent === "string" && e.kind === "text" ? [...sent].length : Array.isArray(sent) ? sent.length : undefined;
    if (size !== undefined && e.least !== undefined && size < e.least) return { wrong: words.form.least(what, e.kind, e.least), at };
    if (size !== undefined && e.most !== undefined && size > e.most) return { wrong: words.form.most(what, e.kind, e.most), at };
    if (e.kind === "text" && typeof sent === "string" && !ofFormat(sent, e.format)) return { wrong: words.form.format(what, e.format), at };
    out.push([e.name, sent]);
  }
  return { content: Object.fromEntries(out) };
}

function numberOf(e: Entry, v: Value): number | undefined {
  const typed = String(v).trim();
  const n = Number(typed);
  if (!/^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(typed) || !Number.isFinite(n)) return undefined;
  return e.kind === "integer" && !Number.isSafeInteger(n) ? undefined : n;
}

/** As good as a page can tell; the broker looks more closely. */
function ofFormat(s: string, format: string): boolean {
  switch (format) {
    case "email":
      return /^\S+@\S+$/.test(s);
    case "uri":
      return /^[a-z][a-z\d+.-]*:\S+$/i.test(s);
    case "date":
      return /^(?!0000)\d{4}-\d\d-\d\d$/.test(s) && !Number.isNaN(Date.parse(s));
    case "date-time":
      return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(s) && !Number.isNaN(Date.parse(s));
  }
  return true;
}

/** Fields that the form itself shows. */
export function besidesForm(fields: readonly Field[]): Field[] {
  return fields.filter((f) => !["mcp_server_name", "mode", "requested_schema"].includes(f.name));
}

const boxShows = 12; // characters, at the least, of the widest letters on a narrow phone

/** What is sent of a box's text where that is otherwise than it looks, or may be more than the box
 * shows; "" for any other. What somebody typed has been seen; what the server proposed has not. */
export function closely(v: Value | undefined, e?: Entry): string {
  if (typeof v !== "string") return "";
  const most = e?.initial ? boxShows : 300;
  const sent = e?.kind === "number" || e?.kind === "integer" ? numberOf(e, v) : undefined;
  if (sent !== undefined) return String(sent) !== v.trim() || v.length > most ? String(sent) : "";
  const seen = visibleText(v);
  return seen !== v || v.length > most || (e?.initial && v.includes("\n")) || v !== v.trim() ? seen : "";
}
