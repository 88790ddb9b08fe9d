import assert from "node:assert/strict";
import { test } from "node:test";
import type { PermissionRequest } from "../broker/types.gen";
import type { Field } from "../card/parts";
import { pressOf, readWhole } from "./friction";

const field = (text: string): Field => ({ name: "content", kind: "code", text });

test("danger is held, and so is what nobody knows", () => {
  for (const [risk, press] of [["calm", "tap"], ["normal", "tap"], ["attention", "tap"], [undefined, "tap"], ["danger", "hold"], ["disaster", "hold"]] as const) {
    assert.equal(pressOf({ risk } as PermissionRequest), press, String(risk));
  }
});

test("only what is harmless and hides nothing need not be read whole", () => {
  const write = { toolName: "Write", risk: "normal", effects: [{ effect: "writes", object: "a.go", outside: false, risk: "normal", text: "Writes a.go" }] } as PermissionRequest;
  for (const [name, r, text, whole] of [
    ["inside the project", write, "a\n\tb\n\nc  d", false],
    ["reads", { ...write, toolName: "Read", risk: "calm" }, "a", false],
    ["attention", { ...write, risk: "attention" }, "a", true],
    ["danger", { ...write, risk: "danger" }, "a", true],
    ["no risk at all", { ...write, risk: undefined }, "a", true],
    ["an unknown risk", { ...write, risk: "none" }, "a", true],
    ["outside the project", { ...write, effects: [{ ...write.effects![0]!, outside: true }] }, "a", true],
    ["marked parts", { ...write, marks: [{ start: 0, end: 1, risk: "danger" }] }, "a", true],
    ["cannot be shown faithfully", { ...write, uninspectable: "two keys" }, "a", true],
    ["a plan", { ...write, toolName: "ExitPlanMode", risk: "calm" }, "a", true],
    ["a form", { ...write, event: "Elicitation" }, "a", true],
    ["a hidden character", write, "a⟦U+202E⟧b", true],
    ["spaces that push the rest away", write, "a" + " ".repeat(24) + "b", true],
    ["empty lines that push the rest away", write, "a\n\n\n\n\nb", true],
  ] as const) {
    assert.equal(readWhole(r as PermissionRequest, [field("x"), field(text)]), whole, name);
  }
});
