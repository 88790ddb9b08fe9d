import assert from "node:assert/strict";
import test from "node:test";
import { treeOf, writable } from "../broker/json";
import { type Request } from "../queue/model";
import { add } from "../queue/seen";
import { sentenceOf, suggestionsOf } from "./always";
import { diffOf } from "./diff";
import { editedInput, membersOf } from "./edit";
import { isLong, rowsOf } from "./exact";
import { changedLines, partsOf } from "./parts";
import { marksOf } from "./shellview";

const request = (toolName: string, toolInput: Record<string, unknown>): Request => ({
  id: "1", sessionId: "s", toolName, toolInput, inputSha256: "0".repeat(64), createdAt: "2026-01-01T00:00:00Z", deadline: "2026-01-01T00:10:00Z",
});

test("a diff holds both texts, whole", () => {
  const texts = ["", "a", "a\n", "\n", "a\nb\nc", "a\nB\nc\n", "\n\n\n\n\n\n\n\n", "x\n\n\n\n\n\n\ny", "a b c", "a  b c"];
  for (const before of texts) {
    for (const after of texts) {
      const side = (skip: string) => diffOf(before, after).lines.filter((l) => l.sign !== skip).flatMap((l) => Array.from({ length: l.blank || 1 }, () => l.text));
      const want = (s: string) => (s === "" ? [] : s.split("\n"));
      assert.deepEqual(side("+"), want(before), JSON.stringify([before, after]));
      assert.deepEqual(side("-"), want(after), JSON.stringify([before, after]));
    }
  }
  const d = diffOf("one\ntimeout := 5 * second\nthree", "one\ntimeout := 30 * second\nthree");
  assert.equal(d.changed, 1);
  const marked = d.lines.flatMap((l) => l.marks.map((m) => l.sign + l.text.slice(m.start, m.end)));
  assert.deepEqual(marked, ["-5", "+30"]);
});

test("a diff of what is nothing alike is quick, and whole", () => {
  const big = (c: string) => Array.from({ length: 20_000 }, (_, i) => `${c}${i}`).join("\n");
  assert.equal(diffOf(big("a"), big("b")).lines.length, 40_000);
});

test("rows tell how many lines are empty", () => {
  assert.deepEqual(rowsOf("a\n\n\nb").map((r) => r.blank), [0, 0, 0, 0]);
  assert.deepEqual(rowsOf("a" + "\n".repeat(6) + "b").map((r) => [r.at, r.text, r.blank]), [[0, "a", 0], [2, "", 5], [7, "b", 0]]);
  assert.equal(isLong("\n".repeat(5000)), false);
  const seen = new Set<string>();
  for (let n = 0; n < 20; n++) for (const end of ["", "x"]) seen.add(JSON.stringify(rowsOf("a" + "\n".repeat(n) + end).map((r) => [r.text, r.blank])));
  assert.equal(seen.size, 40, "two texts look the same");
});

test("JSON is taken apart as it is written", () => {
  const text = '{"a": [1e400, -0, {"b":"x\\"]"}], "a": 12345678901234567890, "e": {}, "f": []}';
  const tree = treeOf(text);
  assert.ok(tree?.kind === "object" && tree.members.length === 4 && tree.members[1]!.value.kind === "scalar");
  assert.deepEqual(tree.members[1], { key: '"a"', value: { kind: "scalar", text: "12345678901234567890" } });
  for (const bad of ["", "{", "[1,]", '{"a" 1}', "[1] 2", "{a:1}", "]", "[".repeat(100) + "]".repeat(100)]) assert.equal(treeOf(bad), undefined, bad);
  for (const good of ["1", "-1.5", '"x"', "true", '{"a":[null]}']) assert.equal(writable(good), true, good);
  for (const lossy of ["12345678901234567890", "1e400", "-0", "1.0e2", '{"a":1,"a":2}', '{"__proto__":1}', "{"]) assert.equal(writable(lossy), false, lossy);
});

test("every field is in one part", () => {
  const field = (name: string, kind: "diff-old" | "diff-new" | "json" | "path", text: string) => ({ name, kind, text });
  const fields = [field("file_path", "path", "/a"), field("edits[0].old_string", "diff-old", "a"), field("edits[0].new_string", "diff-new", "b"), field("edits[1].new_string", "diff-new", "c"), field("x", "json", "1")];
  const parts = partsOf("MultiEdit", fields);
  assert.deepEqual(parts.map((p) => [p.kind, p.name]), [["field", "file_path"], ["diff", "edits[0].old_string"], ["field", "edits[1].new_string"], ["field", "x"]]);
  assert.equal(changedLines(parts), 1);
});

test("an edit changes what was typed, and nothing else", () => {
  const r = request("Bash", { command: "ls", timeout: 5, "7": ["x"] });
  const members = membersOf(r, [])!;
  assert.equal(editedInput(r, members, new Map([["command", "ls"]])), undefined);
  assert.deepEqual(editedInput(r, members, new Map([["command", "ls -l"], ["timeout", "6"]])), { input: { "7": ["x"], command: "ls -l", timeout: 6 } });
  assert.ok("wrong" in editedInput(r, members, new Map([["timeout", "6]"]]))!);
  assert.equal(membersOf(r, [{ name: "n", kind: "json", text: "12345678901234567890" }]), undefined);
});

test("suggestions that are not understood are not offered", () => {
  const rule = (rules: unknown, more = {}) => ({ type: "addRules", behavior: "allow", destination: "session", rules, ...more });
  assert.equal(suggestionsOf([rule([{ toolName: "Bash", ruleContent: "ls:*" }]), rule([]), rule([{}]), null, 7, { type: "new" }]).length, 1);
  assert.equal(suggestionsOf("x").length, 0);
  assert.ok(sentenceOf(rule([{ toolName: "Bash" }])).includes("every use of Bash"));
  assert.ok(sentenceOf(rule([{ toolName: "Bash", ruleContent: "a\u202eb" }])).includes("⟦U+202E⟧"));
});

test("a part was seen when no piece of it was passed over", () => {
  const spans: [number, number][] = [];
  assert.equal(add(spans, 0, 300, 1000), false);
  assert.equal(add(spans, 700, 1000, 1000), false);
  assert.equal(add(spans, 250, 650, 1000), false);
  assert.equal(add(spans, 640, 720, 1000), true);
});

test("colours do not overlap", () => {
  const unit = (words: { start: number; end: number; kind: "program" | "flag" }[]) => ({ start: 0, end: 20, kind: "command" as const, text: "", words });
  const marks = marksOf([unit([{ start: 0, end: 3, kind: "program" }, { start: 2, end: 5, kind: "flag" }]), unit([{ start: 6, end: 8, kind: "program" }])], [{ code: "x", start: 6, end: 9, why: "w" }, { code: "y", start: 0, end: 20, why: "all" }]);
  assert.deepEqual(marks.map((m) => [m.start, m.kind]), [[0, "program"], [6, "doubt"]]);
});
