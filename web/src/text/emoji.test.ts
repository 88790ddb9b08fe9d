import assert from "node:assert/strict";
import test from "node:test";
import { drawn } from "./emoji";

/** What is drawn of a text, each picture between < and >. */
function shown(text: string): string {
  const all = drawn(text);
  return Array.isArray(all) ? all.map((part) => (typeof part === "string" ? part : `<${(part as { props: { children: string } }).props.children}>`)).join("") : String(all);
}

test("emoji: what certainly is one is drawn", () => {
  assert.equal(shown("a ❤⟦U+FE0F⟧ b"), "a <❤\ufe0f> b");
  assert.equal(shown("step 12⟦U+FE0F⟧⟦U+20E3⟧: x"), "step 1<2\ufe0f\u20e3>: x");
});

test("emoji: everything else stays written out", () => {
  for (const text of ["x⟦U+FE0F⟧⟦U+20E3⟧", "#⟦U+FE0F⟧⟦U+20E3⟧", "1⟦U+FE0F⟧", "1⟦U+20E3⟧", "1⟦U+202E⟧⟦U+20E3⟧"]) assert.equal(shown(text), text);
});
