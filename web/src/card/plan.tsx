// A plan as rendered Markdown. What Markdown would hide is shown: where a link leads, HTML and
// comments as they are written, images as text. The text as it is written is one tap away.
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Paths } from "../text/rich";
import { words } from "../text/words";
import { Rows, rowsOf } from "./exact";
import type { Token } from "./markdown";

type Lex = (text: string) => Token[];
const lexer = signal<Lex | undefined>(undefined);
let loading = false;
const script: string = "/plan.js";

function load(): void {
  if (loading) return;
  loading = true;
  import(script).then(
    (m: { lex: Lex }) => (lexer.value = m.lex),
    () => (loading = false), // no connection: the text stays as it is written
  );
}

export function Markdown({ text }: { text: string }) {
  const [source, setSource] = useState(false);
  useEffect(load, []);
  const tokens = source ? undefined : parse(text);
  return (
    <>
      {tokens ? <div class="markdown" data-ui="markdown">{blocks(tokens)}</div> : <div class="prose"><Rows rows={rowsOf(text)} /></div>}
      {lexer.value && (
        <button type="button" class="link" aria-pressed={source} onClick={() => setSource(!source)}>
          {source ? words.plan.rendered : words.plan.source}
        </button>
      )}
    </>
  );
}

function parse(text: string): Token[] | undefined {
  try {
    return lexer.value?.(text);
  } catch {
    return undefined;
  }
}

const deepest = 12; // of what is rendered; below it stands the text as it is

function blocks(tokens: readonly Token[], depth = 0): ComponentChildren {
  return tokens.map((t, i) => <Block key={i} t={t} depth={depth} />);
}

function Block({ t, depth }: { t: Token; depth: number }) {
  if (depth > deepest) return <p>{t.raw}</p>;
  switch (t.type) {
    case "space":
      return null;
    case "heading": {
      const Tag = (["h4", "h5", "h6"] as const)[Math.min(2, Math.max(0, t["depth"] - 1))]!;
      return <Tag class={`h${t["depth"]}`}>{spans(t.tokens, t.raw, depth)}</Tag>;
    }
    case "paragraph":
      return <p>{spans(t.tokens, t.raw, depth)}</p>;
    case "text":
      return t.tokens ? <span>{spans(t.tokens, t.raw, depth)}</span> : <span>{t["text"]}</span>;
    case "code":
      return (
        <pre>
          {t["lang"] && <span class="label">{t["lang"]}</span>}
          <Rows rows={rowsOf(t["text"])} />
        </pre>
      );
    case "blockquote":
      return <blockquote>{blocks(t.tokens ?? [], depth + 1)}</blockquote>;
    case "hr":
      return <hr />;
    case "list": {
      const items = (t["items"] as Token[]).map((item, i) => (
        <li key={i} class={item["task"] ? "task" : ""}>
          {item["task"] && <span class="box">{item["checked"] ? "☑" : "☐"} </span>}
          {blocks((item.tokens ?? []).filter((x) => x.type !== "checkbox"), depth + 1)}
        </li>
      ));
      return t["ordered"] ? <ol start={Number(t["start"]) || 1}>{items}</ol> : <ul>{items}</ul>;
    }
    case "table":
      return (
        <div class="table" data-ui="table">
          <table>
            <thead>
              <tr>{(t["header"] as Token[]).map((c, i) => <th key={i}>{spans(c.tokens, c["text"], depth)}</th>)}</tr>
            </thead>
            <tbody>
              {(t["rows"] as Token[][]).map((r, i) => (
                <tr key={i}>{r.map((c, k) => <td key={k}>{spans(c.tokens, c["text"], depth)}</td>)}</tr>
              ))}
            </tbody>
          </table>
        </div>
      );
  }
  return <pre class="asis">{t.raw}</pre>; // HTML, definitions, whatever comes
}

function spans(tokens: readonly Token[] | undefined, raw: string, depth: number): ComponentChildren {
  if (!tokens || depth > deepest) return raw;
  return tokens.map((t): ComponentChildren => {
    const inner = () => spans(t.tokens, t.raw, depth + 1);
    switch (t.type) {
      case "text":
        return t.tokens ? inner() : t["text"];
      case "escape":
        return t["text"];
      case "strong":
        return <strong>{inner()}</strong>;
      case "em":
        return <em>{inner()}</em>;
      case "del":
        return <del>{inner()}</del>;
      case "codespan":
        return <code><Paths text={t["text"]} /></code>;
      case "br":
        return <br />;
      case "link":
        return t["text"] === t["href"] ? <span class="link-to">{t["href"]}</span> : <>{inner()} <span class="link-to">({t["href"]}{t["title"] ? ` "${t["title"]}"` : ""})</span></>;
    }
    return <code class="asis">{t.raw}</code>; // images, HTML, whatever comes
  });
}
