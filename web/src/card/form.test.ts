import assert from "node:assert/strict";
import { test } from "node:test";
import type { Request } from "../queue/model";
import { closely, contentOf, formOf, formParts, valueOf, type Value } from "./form";

const request = (schema: unknown, event?: "Elicitation"): Request => ({
  id: "1", sessionId: "s", toolName: "Elicitation", toolInput: { message: "m", mcp_server_name: "lab", requested_schema: schema }, inputSha256: "0".repeat(64),
  createdAt: "2026-01-01T00:00:00Z", deadline: "2026-01-01T00:02:00Z", ...(event ? { event } : {}),
} as Request);

const form = (properties: Record<string, unknown>, required: string[] = []) => formOf(request({ type: "object", properties, required }, "Elicitation"))!;
const filled = (properties: Record<string, unknown>, values: [string, Value | undefined][], required: string[] = []) => contentOf(form(properties, required), new Map(values));

test("only an MCP server's event is a form, whatever a tool is called", () => {
  assert.equal(formOf(request({ type: "object", properties: {} })), undefined);
  assert.equal(formOf(request({ type: "object" }, "Elicitation")), undefined);
  assert.equal(formOf({ ...request({ type: "object", properties: {} }, "Elicitation"), uninspectable: "repeated" }), undefined);
  for (const p of [1, null, {}, { type: "object" }, { type: "array" }, { type: "array", items: { type: "string" } }]) {
    assert.equal(formOf(request({ type: "object", properties: { a: p } }, "Elicitation")), undefined, JSON.stringify(p));
  }
});

test("what is sent is of the kind that was asked for, and nothing else", () => {
  const properties = {
    name: { type: "string" }, many: { type: "array", items: { anyOf: [{ const: "x", title: "X" }] } }, one: { type: "string", enum: ["a"], enumNames: ["A"] },
    n: { type: "integer" }, f: { type: "number" }, yes: { type: "boolean" }, left: { type: "string" }, __proto__x: { type: "string" },
  };
  const got = filled(properties, [["name", " a "], ["many", ["x"]], ["one", "a"], ["n", " 12 "], ["f", "-1.5e2"], ["yes", false], ["left", ""], ["other", "x"]]);
  assert.deepEqual(got, { content: { name: " a ", many: ["x"], one: "a", n: 12, f: -150, yes: false } });
});

test("defaults are there until they are changed or taken away", () => {
  const properties = { a: { type: "string", default: "x" }, n: { type: "integer", default: 3 }, b: { type: "boolean", default: true }, c: { type: "array", items: { enum: ["p", "q"] }, default: ["q"] } };
  assert.deepEqual(filled(properties, []), { content: { a: "x", n: 3, b: true, c: ["q"] } });
  assert.deepEqual(filled(properties, [["a", ""], ["b", undefined], ["c", []]]), { content: { n: 3 } });
});

test("a member with a name of JavaScript's own is a member like any other", () => {
  const f = formOf(request({ type: "object", properties: JSON.parse('{"__proto__":{"type":"string"},"constructor":{"type":"string"}}') as object }, "Elicitation"))!;
  assert.equal(JSON.stringify(contentOf(f, new Map([["__proto__", "a"], ["constructor", "b"]]))), '{"content":{"__proto__":"a","constructor":"b"}}');
});

test("what is wrong is said of the first entry that is", () => {
  for (const [property, value, says] of [
    [{ type: "string", title: "T\u202e" }, undefined, "T⟦U+202E⟧"],
    [{ type: "string", minLength: 2 }, "\u{1F600}", "at least 2 characters"],
    [{ type: "string", maxLength: 1 }, "ab", "at most 1 character"],
    [{ type: "string", format: "email" }, "a", "e-mail"],
    [{ type: "string", format: "date-time" }, "2026-12-24", "date and time"],
    [{ type: "integer" }, "1.5", "whole"],
    [{ type: "integer" }, "9007199254740993", "whole"],
    [{ type: "number" }, "0x10", "not a number"],
    [{ type: "number", maximum: 5 }, "6", "at most 5"],
    [{ type: "array", minItems: 2, items: { enum: ["a", "b"] } }, ["a"], "choose at least 2"],
  ] as [unknown, Value | undefined, string][]) {
    const got = filled({ a: property }, [["a", value]], ["a"]);
    assert.ok("wrong" in got && got.wrong.includes(says), JSON.stringify([property, got]));
  }
});

test("text that looks otherwise than it is sent is shown as it is", () => {
  assert.equal(closely("plain"), "");
  assert.equal(closely("a\u200bb"), "a⟦U+200B⟧b");
  assert.equal(closely("x".repeat(301)).length, 301);
  assert.equal(closely("end "), "end ");
  assert.equal(closely(["a"]), "");
});

test("every entry is a part that has to be seen", () => {
  assert.deepEqual(formParts(form({ a: { type: "string" }, b: { type: "boolean" } })), ["form:0", "form:1"]);
  assert.deepEqual(formParts(form({})), ["form:"]);
});

test("an option with an empty value is chosen like any other", () => {
  const properties = { a: { type: "string", enum: ["", "x"], enumNames: ["All", "X"] }, b: { type: "string", enum: ["", "x"], default: "" } };
  assert.deepEqual(filled(properties, [["a", ""]], ["a"]), { content: { a: "", b: "" } });
  assert.deepEqual(filled(properties, [["a", ""], ["b", undefined]], ["a"]), { content: { a: "" } });
});

test("a proposal is written out beside its box, which may show less of it", () => {
  const shown = (p: object, typed?: string) => {
    const [e] = form({ a: p }).entries;
    return closely(typed ?? valueOf(e!, new Map()), e);
  };
  assert.equal(shown({ type: "string", default: "https://good.example/x@evil.example" }), "https://good.example/x@evil.example");
  assert.equal(shown({ type: "string", default: "a\n\nb" }), "a\n\nb");
  assert.equal(shown({ type: "string", default: "short" }), "");
  assert.equal(shown({ type: "string", default: "short" }, "what somebody made of it"), "what somebody made of it");
  assert.equal(shown({ type: "string" }, "what somebody typed by himself"), "");
});

test("a number that a browser knows otherwise is shown as it is sent", () => {
  const [e] = form({ n: { type: "number" } }).entries;
  assert.equal(closely("0.12345678901234567890", e), "0.12345678901234568");
  assert.equal(closely("12345678901234567890", e), "12345678901234567000");
  assert.equal(closely("1e3", e), "1000");
  assert.equal(closely(" 12", e), "");
  assert.equal(closely("x", e), "");
});

test("a day that its box cannot show is not sent", () => {
  assert.ok("wrong" in filled({ d: { type: "string", format: "date", default: "0000-01-01" } }, []));
});

test("names that objects have by themselves are names like others", () => {
  const schema = JSON.parse('{"__proto__":{"type":"string","default":"p"},"constructor":{"type":"boolean"},"toString":{"type":"string","enum":["__proto__"]}}') as object;
  const r = { ...request({}, "Elicitation"), toolInput: { requested_schema: { type: "object", properties: schema, required: ["constructor"] } } } as unknown as Request;
  const f = formOf(r);
  assert.ok(f);
  assert.deepEqual(f.entries.map((e) => [e.name, e.kind, e.required]), [["__proto__", "text", false], ["constructor", "boolean", true], ["toString", "one", false]]);
  assert.ok("wrong" in contentOf(f, new Map()));
  const sent = contentOf(f, new Map<string, Value>([["constructor", false], ["toString", "__proto__"]]));
  assert.equal(JSON.stringify(sent), '{"content":{"__proto__":"p","constructor":false,"toString":"__proto__"}}');
});
