import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { visibleBytes, visibleLine, visibleText } from "./visible";

declare const TESTDATA: string;

interface Case {
  name: string;
  hex: string;
  text: string;
  line: string;
}

const cases = JSON.parse(readFileSync(`${TESTDATA}/text.json`, "utf8")) as Case[];

for (const c of cases) {
  test(`visible: ${c.name}`, () => {
    const bytes = Uint8Array.from(c.hex.match(/../g) ?? [], (h) => parseInt(h, 16));
    assert.equal(visibleBytes(bytes), c.text);
    let s: string;
    try {
      s = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      return; // no string of a page can hold it
    }
    assert.equal(visibleText(s), c.text);
    assert.equal(visibleLine(s), c.line);
  });
}

test("a lone surrogate of a JavaScript string", () => {
  assert.equal(visibleText("a\ud800b"), "a⟦U+D800⟧b");
});

test("every character reads back", () => {
  for (let r = 0; r <= 0x10ffff; r++) {
    const s = "a" + String.fromCodePoint(r);
    const back = visibleLine(s).replace(/⟦U\+([0-9A-F]+)⟧/g, (_, h: string) => String.fromCodePoint(parseInt(h, 16)));
    if (back !== s) assert.fail(`U+${r.toString(16)}`);
  }
});
