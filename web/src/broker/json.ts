// JSON as it is written, taken apart without changing anything: JSON.parse would round long
// numbers and drop a key that comes twice. Scalars stay the text they are.

export type Node =
  | { kind: "scalar"; text: string }
  | { kind: "object"; members: { key: string; value: Node }[] } // keys as written, with quotes
  | { kind: "array"; items: Node[] };

const deepest = 40;
const most = 2000; // values

const token = /[ \n\r\t]*([[\]{},:]|"(?:[^"\\]|\\.)*"|[^\s[\]{},:"]+)/y;

/** The tree of a JSON text, or undefined where it is none, or too large for one. */
export function treeOf(text: string): Node | undefined {
  let at = 0;
  let count = 0;
  const next = (): string => {
    token.lastIndex = at;
    const m = token.exec(text);
    if (!m) throw new SyntaxError("no JSON");
    at = token.lastIndex;
    return m[1]!;
  };
  const peek = (): string => {
    const before = at;
    const t = next();
    at = before;
    return t;
  };
  const need = (t: string, want: string) => {
    if (t !== want) throw new SyntaxError("no JSON");
  };
  const value = (depth: number): Node => {
    if (depth > deepest || ++count > most) throw new RangeError("too large");
    const t = next();
    if (t === "{") {
      const members: { key: string; value: Node }[] = [];
      if (peek() === "}") return next(), { kind: "object", members };
      for (;;) {
        const key = next();
        if (!key.startsWith('"')) throw new SyntaxError("no JSON");
        need(next(), ":");
        members.push({ key, value: value(depth + 1) });
        const end = next();
        if (end === "}") return { kind: "object", members };
        need(end, ",");
      }
    }
    if (t === "[") {
      const items: Node[] = [];
      if (peek() === "]") return next(), { kind: "array", items };
      for (;;) {
        items.push(value(depth + 1));
        const end = next();
        if (end === "]") return { kind: "array", items };
        need(end, ",");
      }
    }
    if (/^[\]},:]$/.test(t)) throw new SyntaxError("no JSON");
    return { kind: "scalar", text: t };
  };
  try {
    const root = value(0);
    return /^[ \n\r\t]*$/.test(text.slice(at)) ? root : undefined;
  } catch {
    return undefined;
  }
}

/** Whether this page can write the value back as it is: a number that JavaScript rounds would
 * come back as another. */
export function writable(text: string): boolean {
  const node = treeOf(text);
  const all = (n: Node): boolean => {
    if (n.kind === "object") return new Set(n.members.map((m) => m.key)).size === n.members.length && n.members.every((m) => m.key !== '"__proto__"' && all(m.value));
    if (n.kind === "array") return n.items.every(all);
    if (/^["tfn]/.test(n.text)) return true;
    return /^-?(0|[1-9]\d{0,14})(\.\d{1,10})?$/.test(n.text) && n.text !== "-0";
  };
  return !!node && all(node);
}
