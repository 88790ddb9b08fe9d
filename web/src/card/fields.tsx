// A tool's input, part by part. Every text here was made visible by the server and goes into
// text nodes only.
import type { ComponentChildren } from "preact";
import { treeOf, type Node } from "../broker/json";
import { toolKind } from "../broker/tools";
import type { PermissionRequest } from "../broker/types.gen";
import { dangerous } from "../queue/friction";
import { visibleLine } from "../text/visible";
import { words } from "../text/words";
import { headAndTail, isLong, lineCount, Rows, rowsOf } from "./exact";
import { foldedLines, runsOf } from "./fold";
import { useMore } from "./more";
import { changedLines, type ChangePart, type Field, type Part } from "./parts";
import { relative } from "./paths";
import { Folded, Shell } from "./shellview";

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
        const its = { whole: !p.long || opened.has(p.name), opened: opened.has(p.name), open: () => open(p.name) };
        return (
          <div class="part" data-part={p.name} key={p.name}>
            {p.kind === "diff" ? <ChangesPlace request={request} part={p} {...its} /> : isFile(p.field) ? <FilePart request={request} field={p.field} parts={parts} /> : <FieldPart request={request} field={p.field} {...its} />}
          </div>
        );
      })}
    </div>
  );
}

export interface Its {
  request: PermissionRequest;
  /** All of it may be shown: it is not long, or was opened. */
  whole: boolean;
  opened: boolean;
  open(): void;
}

function isFile(f: Field): boolean {
  return f.kind === "path" && (f.name === "file_path" || f.name === "notebook_path") && f.text !== "" && f.text.length <= 200 && !f.text.includes("\n");
}

/** The file that is meant, as it lies in the project, and how many lines of it change. */
function FilePart({ request, field, parts }: { request: PermissionRequest; field: Field; parts: readonly Part[] }) {
  const { come, go } = changedLines(parts);
  return (
    <div class="field file" data-ui="file" title={field.text}>
      <pre class="path"><Rows rows={rowsOf(relative(field.text, request))} /></pre>
      {come + go > 0 && (
        <span class="counts">
          {come > 0 && <span class="comes">{words.diff.more(come)}</span>} {go > 0 && <span class="goes">{words.diff.less(go)}</span>}
        </span>
      )}
    </div>
  );
}

/** A difference is shown by a script that comes with the first one. */
function ChangesPlace(props: Its & { part: ChangePart }) {
  const { script } = useMore(true);
  return script ? <script.ChangesPart {...props} /> : <p class="quiet">{words.oneMoment}</p>;
}

/** So is a plan: until then it is text. */
function Plan({ text }: { text: string }) {
  const { script } = useMore(true);
  return script ? <script.Markdown text={text} /> : <div class="prose"><Rows rows={rowsOf(text)} /></div>;
}

function FieldPart({ request, field: f, whole, opened, open }: Its & { field: Field }) {
  const content = (!opened && isShell(request, f) && folded(request, f, open)) || (whole ? <Block request={request} field={f} text={f.text} /> : <Collapsed request={request} field={f} open={open} />);
  if (f.kind === "words") {
    const agent = visibleLine(words.card.agentName(request.agent));
    if (dangerous(request)) {
      return (
        <details class="field words" data-ui="agent-words">
          <summary>{words.card.foldedWords(words.fields.agentSaid(agent), f.text.length)}</summary>
          {content}
        </details>
      );
    }
    return (
      <div class="field words" data-ui="agent-words">
        <span class="label">{words.fields.agentSays(agent)}</span> {content}
      </div>
    );
  }
  if (isShell(request, f) || (request.event && f.name === "message" && f.kind === "text")) return <div class="field">{content}</div>;
  const inline: Readonly<Record<string, number>> = { text: 80, json: 40, path: 200, url: 200 };
  const short = whole && f.text.length <= (inline[f.kind] ?? 0) && f.text !== "" && !f.text.includes("\n");
  return (
    <div class={short ? "field short" : "field"}>
      <span class="label">{label(f.name)}</span>
      <div class="value-of">{content}</div>
    </div>
  );
}

function isShell(request: PermissionRequest, f: Field): boolean {
  return f.name === "command" && f.kind === "code" && toolKind(request.toolName) === "command";
}

/** A command with its plain lines folded, or undefined where none may be, or too much is left. */
function folded(request: PermissionRequest, f: Field, open: () => void): ComponentChildren {
  const runs = runsOf(request, f.text, rowsOf(f.text));
  const count = foldedLines(runs);
  if (count === 0 || isLong(runs.flatMap((run) => (run.folded ? [] : run.rows.map((r) => r.text))).join("\n"))) return undefined;
  return (
    <>
      <Folded request={request} text={f.text} runs={runs} several />
      <More hidden={words.shell.showAll(count)} open={open} />
    </>
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

export function More({ hidden, open }: { hidden: string; open(): void }) {
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
  if (field.name === "plan" && field.kind === "text" && toolKind(request.toolName) === "plan" && whole) return <Plan text={text} />;
  if (field.kind === "text") return <div class="prose" dir="auto"><Rows rows={rows} from={from} several={several} /></div>;
  if (field.kind === "url") return <Address text={text} />;
  if (isShell(request, field)) return <Shell request={request} text={field.text} rows={rows} from={from} several={several} />;
  if (field.kind === "path") return <pre class="path"><Rows rows={rowsOf(relative(text, request))} /></pre>;
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
