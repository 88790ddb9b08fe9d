// Makes foreign text safe to look at, by the rules of internal/text/show: what cannot be seen is
// written as ⟦U+202E⟧. Tool inputs arrive in `shown`, made safe by the server; this is for the
// short strings around them (names, branches, a question's labels) and for raw payloads.
// Both sides are tested against internal/text/show/testdata/text.json.

const maxMarks = 4;

// Controls, format characters, private use, unassigned, surrogates; separators and odd spaces;
// enclosing marks; what is ignored when displayed; blanks that count as letters or symbols.
const hidden =
  /[\p{C}\p{Z}\p{Me}\p{Default_Ignorable_Code_Point}\p{Variation_Selector}⟦\uFFFC\uFFFD\u2800\u17B4\u17B5\u{13440}\u{16FE4}\u{1BC9D}\u{1D159}]/u;
const nonspacing = /\p{Mn}/u;
const mark = /\p{M}/u;
const plain = /^[\x20-\x7e]*$/;

/** Text that may have several lines: line feeds and tabs stay. */
export function visibleText(s: string): string {
  return visible(s, true);
}

/** Text for one line: line feeds and tabs are made visible too. */
export function visibleLine(s: string): string {
  return visible(s, false);
}

function visible(s: string, multiline: boolean): string {
  if (plain.test(s)) return s;
  let out = "";
  let marks = maxMarks; // a mark needs something visible to stand on
  for (const c of s) {
    if (c === " " || (multiline && (c === "\n" || c === "\t"))) {
      out += c;
      marks = maxMarks;
    } else if (hidden.test(c) || (marks >= maxMarks && mark.test(c))) {
      out += "⟦U+" + c.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0") + "⟧";
      marks = maxMarks;
    } else {
      out += c;
      marks = nonspacing.test(c) ? marks + 1 : 0;
    }
  }
  return out;
}

/** Bytes that claim to be UTF-8, each byte that is not as ⟦xFF⟧. */
export function visibleBytes(bytes: Uint8Array): string {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let out = "";
  let start = 0; // of the bytes that may be good
  const flush = (end: number) => {
    if (end > start) out += visibleText(decoder.decode(bytes.subarray(start, end)));
  };
  for (let i = 0; i < bytes.length; ) {
    const n = sequenceLength(bytes, i);
    const [a, b, c] = [bytes[i]!, bytes[i + 1] ?? 0, bytes[i + 2] ?? 0];
    if (n === 0 && a === 0xed && b >= 0xa0 && b <= 0xbf && (c & 0xc0) === 0x80) {
      flush(i); // a surrogate, as no UTF-8 has it
      out += "⟦U+" + (0xd000 | ((b & 0x3f) << 6) | (c & 0x3f)).toString(16).toUpperCase() + "⟧";
      start = i += 3;
    } else if (n === 0) {
      flush(i);
      out += "⟦x" + a.toString(16).toUpperCase().padStart(2, "0") + "⟧";
      start = ++i;
    } else {
      i += n;
    }
  }
  flush(bytes.length);
  return out;
}

/** Length of the well-formed UTF-8 sequence at i, 0 when there is none. */
function sequenceLength(b: Uint8Array, i: number): number {
  const c = b[i]!;
  if (c < 0x80) return 1;
  const next = b[i + 1] ?? 0;
  let n = 0;
  if (c >= 0xc2 && c < 0xe0) n = 2;
  else if (c >= 0xe0 && c < 0xf0) n = (c === 0xe0 && next < 0xa0) || (c === 0xed && next > 0x9f) ? 0 : 3;
  else if (c >= 0xf0 && c < 0xf5) n = (c === 0xf0 && next < 0x90) || (c === 0xf4 && next > 0x8f) ? 0 : 4;
  for (let k = 1; k < n; k++) if (((b[i + k] ?? 0) & 0xc0) !== 0x80) return 0;
  return n;
}
