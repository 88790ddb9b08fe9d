// A tool's input, part by part. Every text here was made visible by the server and goes into
// text nodes only.
import type { ComponentChildren } from "preact";
import { treeOf, type Node } from "../broker/json";
import { toolKind } from "../broker/tools";
import type { PermissionRequest } from "../broker/types.gen";
import { visibleLine } from "../text/visible";
import { words } from "../text/words";
import { Changes } from "./changes";
import { headAndTail, isLong, lineCount, Rows, rowsOf } from "./exact";
import { longDiff, type Field, type Part } from "./parts";
import { Markdown } from "./plan";
import { Shell } from "./shellview";

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
  request: PermissionRequest;
  parts: readonly Part[];
  /** Names of long parts that were opened. */
  opened: ReadonlySet<string>;
  open(name: string): void;
}

export function Parts({ request, parts, opened, open }: Props) {
  return (
    <div class="fields" data-ui="fields">
      {parts.map((p) => {
        const whole = !p.long || opened.has(p.name);
        return (
          <div class="part" data-part={p.name} key={p.name}>
            {p.kind === "diff" ? <ChangesPart request={request} part={p} whole={whole} open={() => open(p.name)} /> : <FieldPart request={request} field={p.field} whole={whole} open={() => open(p.name)} />}
          </div>
        );
      })}
    </div>
  );
}

function ChangesPart({ request, part, whole, open }: { request: PermissionRequest; part: Extract<Part, { kind: "diff" }>; whole: boolean; open(): void }) {
  const { diff, prefix } = part;
  const number = /^edits\[(\d+)\]\.$/.exec(prefix);
  const title = number ? words.diff.place(Number(number[1]) + 1) : part.name === "content" ? words.diff.wholeFile : words.diff.change;
  const { lines } = diff;
  const longLine = lines.some((l) => isLong(l.text));
  return (
    <div class="field">
      <span class="label">{title}</span>
      {part.name === "content" && <p class={request.overwrites?.exists === false ? "remark" : "notice"} data-ui="notice">{words.diff.overwrites(request.overwrites)}</p>}
      {lines.length === 0 && <span class="nothing">{words.fields.empty}</span>}
      {whole ? (
        lines.length > 0 && <Changes diff={diff} />
      ) : (
        <>
          <Changes diff={diff} lines={longLine ? lines.slice(0, 14).map(clipped) : lines.slice(0, longDiff - 16)} />
          <More hidden={words.fields.hidden(longLine ? words.diff.longLines : words.fields.lines(Math.max(1, lines.length - longDiff + 8)), lines.length)} open={open} />
          <Changes diff={diff} lines={longLine ? [] : lines.slice(-8)} />
        </>
      )}
    </div>
  );
}

/** Of a line that is long by itself the beginning; the button below says that there is more. */
function clipped<L extends { text: string }>(l: L): L {
  return isLong(l.text) ? { ...l, text: headAndTail(l.text).head + " …" } : l;
}

function FieldPart({ request, field: f, whole, open }: { request: PermissionRequest; field: Field; whole: boolean; open(): void }) {
  const content = whole ? <Block request={request} field={f} text={f.text} /> : <Collapsed request={request} field={f} open={open} />;
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
      <div class="value-of">{content}</div>
    </div>
  );
}

function Collapsed({ request, field, open }: { request: PermissionRequest; field: Field; open(): void }) {
  const { head, tail, hidden } = headAndTail(field.text);
  return (
    <>
      <Block request={request} field={field} text={head} />
      <More hidden={words.fields.hidden(hidden, lineCount(field.text))} open={open} />
      <Block request={request} field={field} text={tail} at={field.text.length - tail.length} />
    </>
  );
}

function More({ hidden, open }: { hidden: string; open(): void }) {
  return (
    <button type="button" class="more" data-action="more" onClick={open}>
      {hidden}
    </button>
  );
}

/** A text, or a piece of one that begins at the place at. */
function Block({ request, field, text, at = 0 }: { request: PermissionRequest; field: Field; text: string; at?: number }) {
  if (text === "") return <span class="nothing">{words.fields.empty}</span>;
  const rows = rowsOf(text).map((r) => (at ? { ...r, at: r.at + at } : r));
  const whole = text.length === field.text.length;
  const from = at ? field.text.slice(0, at).split("\n").length - 1 : 0;
  const several = field.text.includes("\n");
  if (field.kind === "words") return <q dir="auto"><Rows rows={rows} from={from} several={several} /></q>;
  if (field.name === "plan" && field.kind === "text" && toolKind(request.toolName) === "plan" && whole) return <Markdown text={text} />;
  if (field.kind === "text") return <div class="prose" dir="auto"><Rows rows={rows} from={from} several={several} /></div>;
  if (field.kind === "url") return <Address text={text} />;
  if (field.name === "command" && field.kind === "code" && toolKind(request.toolName) === "command") return <Shell request={request} rows={rows} from={from} several={several} summary={whole || at > 0} />;
  if (field.kind === "json" && whole) {
    const tree = treeOf(text);
    if (tree && tree.kind !== "scalar") return <Tree node={tree} />;
  }
  return <pre class={field.kind}><Rows rows={rows} from={from} several={several} /></pre>;
}

/** A raw text, with what is hidden of it on demand. */
export function Raw({ text, opened, open }: { text: string; opened: boolean; open(): void }) {
  if (opened || !isLong(text)) return <pre class="json"><Rows rows={rowsOf(text)} /></pre>;
  const { head, tail, hidden } = headAndTail(text);
  return (
    <>
      <pre class="json"><Rows rows={rowsOf(head)} several={text.includes("\n")} /></pre>
      <More hidden={words.fields.hidden(hidden, lineCount(text))} open={open} />
      <pre class="json"><Rows rows={rowsOf(tail)} from={text.slice(0, text.length - tail.length).split("\n").length - 1} several={text.includes("\n")} /></pre>
    </>
  );
}

/** An address with its host set apart, and named where the browser reads another one in it. */
function Address({ text }: { text: string }) {
  let host = "";
  try {
    host = new URL(text).host;
  } catch {
    // no address: shown as it is
  }
  const at = host ? text.indexOf(host, text.indexOf("//") + 2) : -1;
  const plain = at >= 0 && /^[a-z][a-z0-9+.-]*:\/\/$/i.test(text.slice(0, at));
  return (
    <>
      <pre class="url">
        {plain ? (
          <>
            <Rows rows={rowsOf(text)} marks={[{ start: at, end: at + host.length, kind: "host" }]} />
          </>
        ) : (
          <Rows rows={rowsOf(text)} />
        )}
      </pre>
      {host && !plain && <p class="remark">{words.fields.realHost(visibleLine(host))}</p>}
    </>
  );
}

/** Arguments as a tree. Keys and values stay as they are written. */
function Tree({ node }: { node: Node }) {
  if (node.kind === "scalar") return <code class="value">{<Rows rows={rowsOf(node.text)} />}</code>;
  const entries: [ComponentChildren, Node][] =
    node.kind === "object" ? node.members.map((m) => [/^"[A-Za-z0-9_$-]+"$/.test(m.key) ? m.key.slice(1, -1) : m.key, m.value]) : node.items.map((v, i) => [String(i + 1), v]);
  if (entries.length === 0) return <code class="value">{node.kind === "object" ? "{}" : "[]"}</code>;
  return (
    <ul class={`tree ${node.kind}`} data-ui="tree">
      {entries.map(([key, value], i) => (
        <li key={i}>
          <span class="member-name">{key}</span> <Tree node={value} />
        </li>
      ))}
    </ul>
  );
}
