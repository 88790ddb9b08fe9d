import assert from "node:assert/strict";
import test from "node:test";
import { treeOf, writable } from "../broker/json";
import { type Request } from "../queue/model";
import { add } from "../queue/seen";
import { headOf, tailOf } from "./context";
import { diffOf, near } from "./diff";
import { editedInput, membersOf } from "./edit";
import { made } from "./edits";
import { isLong, rowsOf } from "./exact";
import { grouped, reasonOf } from "./head";
import { changedLines, partsOf } from "./parts";
import { relative } from "./paths";
import { sentenceOf, suggestionsOf, updatesOf } from "./remember";
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
  const parts = partsOf("MultiEdit", fields, undefined, made);
  assert.deepEqual(parts.map((p) => [p.kind, p.name]), [["field", "file_path"], ["diff", "edits[0].old_string"], ["field", "edits[1].new_string"], ["field", "x"]]);
  assert.deepEqual(changedLines(parts), { come: 1, go: 1 });
  for (const [before, after, come, go] of [["", "a\nb\n", 2, 0], ["a\n", "", 0, 1], ["a\n", "a", 0, 0], ["a", "a\n", 0, 0], ["a\n", "b\n", 1, 1], ["", "\n\n\n\n\n\n\n", 7, 0]] as const) {
    assert.deepEqual(changedLines(partsOf("Write", [{ name: "content", kind: "code", text: after }], { before: { text: before } }, made)), { come, go }, JSON.stringify([before, after]));
  }
});

test("a switch that is off is left out, of the agent's own tools only", () => {
  const field = (name: string, text: string) => ({ name, kind: "json" as const, text });
  const names = (tool: string, ...fields: ReturnType<typeof field>[]) => partsOf(tool, fields).map((p) => p.name);
  assert.deepEqual(names("Edit", field("replace_all", "false"), field("edits[1].replace_all", "false")), []);
  assert.deepEqual(names("Edit", field("replace_all", "true"), field("replace_all", '"false"')), ["replace_all", "replace_all"]);
  assert.deepEqual(names("mcp__x__y", field("replace_all", "false")), ["replace_all"]);
});

test("an edit stands among the lines of its file, with their numbers", () => {
  const edit = [{ name: "old_string", kind: "diff-old" as const, text: "b\nc" }, { name: "new_string", kind: "diff-new" as const, text: "b\nC\nd" }];
  const [part] = partsOf("Edit", edit, { at: { line: 7, above: ["y", "z"], below: ["e"] } }, made);
  assert.ok(part?.kind === "diff");
  assert.deepEqual(part.made!.all.map((l) => `${l.sign}${l.text}${l.number}`), [" y5", " z6", " b7", "-c8", "+C8", "+d9", " e10"]);
});

test("what stands behind the last line feed of a file is no line", () => {
  const rows = (tool: string, was: string, is: string, context: Parameters<typeof partsOf>[2]) => {
    const fields = tool === "Write" ? [{ name: "content", kind: "code" as const, text: is }] : [{ name: "old_string", kind: "diff-old" as const, text: was }, { name: "new_string", kind: "diff-new" as const, text: is }];
    const [part] = partsOf(tool, fields, context, made);
    assert.ok(part?.kind === "diff");
    return part.made!.all.map((l) => `${l.sign}${l.text}${l.number || ""}`);
  };
  assert.deepEqual(rows("Write", "", "a\n", {}), ["+a1"]);
  assert.deepEqual(rows("Write", "a\n", "b\n", { before: { text: "a\n" } }), ["-a1", "+b1"]);
  assert.deepEqual(rows("Write", "a\n", "a", { before: { text: "a\n" } }), [" a1", "-2"], "that the line feed goes is a change");
  assert.deepEqual(rows("Write", "", "\n\n", {}), ["+1", "+2"]);
  assert.deepEqual(rows("Edit", "b\n", "c\nd\n", { at: { line: 2, above: ["a"], below: ["e"] } }), [" a1", "-b2", "+c2", "+d3", " e4"]);
  assert.deepEqual(rows("Edit", "b\n", "c\n", undefined), ["-b", "+c", " "], "it may stand in the middle of a line, where nobody knows");
  assert.deepEqual(changedLines(partsOf("Write", [{ name: "content", kind: "code", text: "a\n\n" }], {}, made)), { come: 2, go: 0 });
});

test("a file that is written anew shows what of it changes, and how much stays", () => {
  const lines = Array.from({ length: 50 }, (_, i) => `line ${i + 1}`);
  const [part] = partsOf("Write", [{ name: "content", kind: "code", text: lines.join("\n").replace("line 30", "LINE 30") }], { before: { text: lines.join("\n") } }, made);
  assert.ok(part?.kind === "diff");
  assert.deepEqual(part.made!.lines.map((l) => (l.left ? `${l.left} stay` : `${l.sign}${l.number}`)), ["26 stay", " 27", " 28", " 29", "-30", "+30", " 31", " 32", " 33", "17 stay"]);
  assert.equal(part.long, false);
  assert.equal(part.made!.all.length, 51);
  const all = near(diffOf("a", "b"));
  assert.deepEqual(all.map((l) => l.sign), ["-", "+"]);
});

test("a path is shown from the project's root, and never another one's", () => {
  const r = { cwd: "/srv/shop/web", repo: { root: "/srv/shop" } };
  for (const [path, want] of [
    ["/srv/shop/src/cart.js", "src/cart.js"],
    ["/srv/shop", "/srv/shop"],
    ["/srv/shop/../../etc/passwd", "/srv/shop/../../etc/passwd"],
    ["/srv/shop//etc", "/srv/shop//etc"],
    ["/srv/shop/./a", "/srv/shop/./a"],
    ["/srv/shopping/a", "/srv/shopping/a"],
    ["/etc/passwd", "/etc/passwd"],
    ["src/cart.js", "./src/cart.js"],
    ["./src/cart.js", "./src/cart.js"],
  ]) assert.equal(relative(path!, r), want);
  assert.equal(relative("/etc/passwd", { cwd: "/srv/shop", projectDir: "/etc" }), "/etc/passwd", "the agent does not work there");
  assert.equal(relative("/a", { cwd: "/", repo: { root: "/" } }), "/a");
});

test("effects of one kind stand together", () => {
  const e = (effect: "deletes" | "reads", object: string, risk: "calm" | "danger", outside = false) => ({ effect, object, risk, outside, text: `${effect} ${object}` });
  const got = grouped([e("deletes", "~/", "danger", true), e("deletes", "build/", "danger"), e("deletes", "tmp/", "danger"), e("reads", "", "calm")]);
  assert.deepEqual(got.map((g) => [g.verb, g.outside, g.things]), [["Deletes", true, ["~/"]], ["Deletes", false, ["build/", "tmp/"]], ["reads ", false, []]]);
});

test("a reason does not say again what the headline says", () => {
  assert.equal(reasonOf("Cannot be undone: deletes build.", "Deletes build; commits"), "Cannot be undone.");
  for (const whole of ["Cannot be undone: deletes dist.", "assent does not know what this does.", ": x", ""]) assert.equal(reasonOf(whole, "Deletes build; commits"), whole);
});

test("a quotation ends between words, and in no character", () => {
  const text = "word ".repeat(100);
  assert.ok(headOf(text, 110).length <= 110 && headOf(text, 110).endsWith("word"));
  assert.ok(tailOf(text, 110).length <= 110 && tailOf(text, 110).startsWith("word"));
  for (const odd of ["😀".repeat(300), `x${"😀".repeat(300)}`]) assert.ok(!/[\ud800-\udbff]$/.test(headOf(odd, 110)) && !/^[\udc00-\udfff]/.test(tailOf(odd, 110)));
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
  assert.equal(suggestionsOf([rule([{ toolName: "Bash", ruleContent: "ls:*" }]), rule([]), rule([{}]), null, 7, { type: "new" }], { toolName: "Bash" }).length, 1);
  assert.equal(suggestionsOf("x", { toolName: "Bash" }).length, 0);
  assert.equal(suggestionsOf([], { toolName: "Bash" }).length, 0);
  assert.equal(suggestionsOf(["ls *", {}], { toolName: "Bash" }).length, 0);
  assert.ok(sentenceOf(rule([{ toolName: "Bash" }])).includes("every use of Bash"));
  assert.ok(sentenceOf(rule([{ toolName: "Bash", ruleContent: "a\u202eb" }])).includes("⟦U+202E⟧"));
});

test("patterns are remembered together, as the agent sent them", () => {
  const [all, ...more] = suggestionsOf(["ls *", "rm\u202e *"], { toolName: "Bash" });
  assert.equal(more.length, 0);
  assert.equal(sentenceOf(all!), "Allow Bash(ls *), Bash(rm⟦U+202E⟧ *)");
  assert.deepEqual(updatesOf(new Map([[0, all!]])), ["ls *", "rm\u202e *"]);
  assert.equal(sentenceOf(suggestionsOf(["*"], { toolName: "Write" })[0]!), "Allow every use of Edit");
  assert.deepEqual(["opencode", "kilo"].map((agent) => suggestionsOf(["*"], { toolName: "Bash", agent })[0]!["destination"]), ["cliArg", "kilo"]);
});

test("a part was seen when no piece of it was passed over", () => {
  const spans: [number, number][] = [];
  assert.equal(add(spans, 0, 300, 1000), false);
  assert.equal(add(spans, 700, 1000, 1000), false);
  assert.equal(add(spans, 250, 650, 1000), false);
  assert.equal(add(spans, 640, 720, 1000), true);
});

test("warnings go before colours, danger before attention, and none is lost", () => {
  const unit = (words: { start: number; end: number; kind: "program" | "flag" }[]) => ({ start: 0, end: 20, kind: "command" as const, text: "", words });
  const units = [unit([{ start: 0, end: 3, kind: "program" }, { start: 2, end: 5, kind: "flag" }]), unit([{ start: 6, end: 8, kind: "program" }])];
  const marks = marksOf("rm -rf a b c d e f g h", units, [{ start: 5, end: 20, risk: "attention" }, { start: 7, end: 9, risk: "danger" }, { start: 8, end: 10, risk: "danger" }]);
  assert.deepEqual(marks.map((m) => [m.start, m.end, m.kind]), [[0, 3, "program"], [5, 7, "attention"], [7, 10, "danger"], [10, 20, "attention"]]);
  const one = marksOf("git  push\norigin", [], [{ start: 0, end: 3, risk: "attention" }, { start: 5, end: 9, risk: "attention" }, { start: 10, end: 16, risk: "attention" }]);
  assert.deepEqual(one.map((m) => [m.start, m.end]), [[0, 9], [10, 16]]);
});
