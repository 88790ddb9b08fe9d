import assert from "node:assert/strict";
import test from "node:test";
import { backoff } from "../broker/socket";
import { headAndTail, isLong, lineCount } from "../card/exact";
import { label } from "../card/fields";
import { answerOf, besides, questionsOf, updatedInput } from "../card/question";
import { gistOf } from "../story/past";
import { grouped, mayRevoke, newer, outcomeLine, projectDir, projectName, repoName, sessionName, settle, since, type Item, type Request } from "./model";

function request(more: Partial<Request> = {}): Request {
  return {
    id: "1",
    sessionId: "s",
    toolName: "Bash",
    inputSha256: "0".repeat(64),
    createdAt: "2026-01-01T00:00:00Z",
    deadline: "2026-01-01T00:10:00Z",
    state: "pending",
    ...more,
  };
}

const ended = (more: Partial<Request>, rest: Partial<Item> = {}): Item => ({ request: request({ state: "ended", ...more }), endedAt: 1, ...rest });
const taken = { phase: "taken", behavior: "allow", at: 0, ms: 412, delivered: true } as const;

test("outcome lines", () => {
  const line = (i: Item, now = 1000) => outcomeLine(i, now)?.text;
  assert.equal(line({ request: request(), endedAt: 0 }), undefined);
  assert.equal(line({ request: request(), endedAt: 0, attempt: { phase: "sending", behavior: "allow", at: 0 } }), "Sending…");
  assert.equal(line({ request: request(), endedAt: 0, attempt: taken }), "Allowed. Delivered in 0.4 s.");
  assert.equal(line({ request: request({ toolName: "AskUserQuestion" }), endedAt: 0, attempt: taken }), "Answered. Delivered in 0.4 s.");
  assert.equal(line({ request: request(), endedAt: 0, attempt: { ...taken, delivered: false } }), "Allowed. Recorded.");
  assert.equal(line({ request: request(), endedAt: 0, attempt: { ...taken, delivered: false } }, 9000), "Allowed. Recorded; the agent has not received it yet.");
  assert.equal(line(ended({ outcome: "allowed", delivery: "confirmed" }, { attempt: taken })), "Allowed. The tool ran.");
  assert.equal(line(ended({ outcome: "denied", decidedBy: { kind: "device", name: "phone-2" } })), "Denied on “phone-2”.");
  assert.equal(line(ended({ outcome: "allowed", decidedBy: { kind: "rule", id: "go-test", name: "go-test", file: "/home/dev/rules.yaml" } })), "Allowed by the rule go-test in /home/dev/rules.yaml.");
  assert.equal(
    line(ended({ outcome: "allowed", decidedBy: { kind: "device", name: "phone", verified: true } })),
    "Allowed on “phone”, confirmed with face, fingerprint or PIN.",
  );
  const device = (name: string) => line(ended({ outcome: "allowed", decidedBy: { kind: "device", id: "d", name } }));
  assert.equal(device("my phone"), "Allowed on “my phone”.");
  assert.equal(device("the rule go-test in /home/dev/rules.yaml"), "Allowed on “the rule go-test in /home/dev/rules.yaml”.");
  assert.equal(device("the terminal"), "Allowed on “the terminal”.");
  assert.equal(line(ended({ outcome: "allowed", decidedBy: { kind: "owner-cli" }, delivery: "delivered" })), "Allowed from the terminal. Delivered.");
  assert.equal(line(ended({ outcome: "allowed", decidedBy: { kind: "token", name: "from the terminal" } })), "Allowed by the token “from the terminal”.");
  assert.equal(line({ request: request(), endedAt: 0, attempt: { ...taken, behavior: "handback" } }), "Left to the terminal. The agent asks there.");
  const left = { outcome: "handed_back", reason: "person" } as const;
  assert.equal(line(ended({ ...left, decidedBy: { kind: "device", name: "desk" } })), "Left to the terminal on “desk”. The agent asks there.");
  assert.equal(line(ended({ ...left, decidedBy: { kind: "owner-cli" } })), "Left to the terminal. The agent asks there.");
  assert.match(line(ended({ outcome: "handed_back", reason: "paused" }))!, /^Handed back/);
  assert.equal(line(ended({ outcome: "withdrawn", reason: "tool_ran" })), "Answered in the terminal: the tool ran.");
  assert.match(line(ended({ outcome: "expired", onTimeout: "deny" }))!, /told no/);
  assert.match(line(ended({ outcome: "expired", onTimeout: "abstain" }))!, /its own terminal/);
  assert.equal(outcomeLine(ended({ outcome: "denied", delivery: "overruled" }, { attempt: taken }), 0)?.tone, "loud");
  const refused = outcomeLine(ended({ outcome: "allowed", delivery: "refused", reason: "refused", failure: "it is not signed" }, { attempt: taken }), 0);
  assert.deepEqual([refused?.tone, refused?.rest], ["bad", "Refused by the hook: it is not signed. The agent asks there."]);
  assert.match(line({ request: request(), endedAt: 1, lost: true })!, /not connected/);
});

test("a conflict settles the request, an old snapshot does not revive it", () => {
  const r = settle(request(), { outcome: "denied", decidedBy: { kind: "token", name: "bot" } });
  assert.equal(r.state, "ended");
  assert.equal(r.decidedBy?.name, "bot");
  assert.equal(newer(r, request()), r);
  assert.equal(settle(request(), { reason: "digest" }).state, "pending");
});

test("groups: oldest first, news at the end", () => {
  const items: Item[] = [
    { request: request({ id: "c", sessionId: "b", createdAt: "2026-01-01T00:00:03Z" }), endedAt: 0 },
    { request: request({ id: "b", sessionId: "a", createdAt: "2026-01-01T00:00:02Z" }), endedAt: 5 },
    { request: request({ id: "a", sessionId: "b", createdAt: "2026-01-01T00:00:01Z" }), endedAt: 0 },
  ];
  assert.deepEqual(
    grouped(items).map((g) => [g.sessionId, g.waiting, g.items.map((i) => i.request.id)]),
    [["b", 2, ["a", "c"]], ["a", 0, ["b"]]],
  );
});

test("names", () => {
  assert.equal(sessionName(request({ cwd: "/home/dev/shop/" })), "shop");
  assert.equal(sessionName(request({ cwd: "/home/dev/shop/.claude/worktrees/assent-01234567" })), "shop");
  assert.equal(projectDir("/home/dev/shop/.claude/worktrees/assent-01234567/web"), "/home/dev/shop");
  assert.equal(projectName("/home/dev/shop/.claude/worktrees/assent-01234567"), "shop");
  assert.equal(sessionName(request({ cwd: "/", sessionId: "0123456789" })), "session 01234567");
  assert.equal(repoName(request({ cwd: "/a/shop", repo: { root: "/a/shop" } })), "");
  assert.equal(repoName(request({ cwd: "/a/shop/web", repo: { root: "/a/shop" } })), "shop");
  assert.deepEqual([0, 40e3, 12 * 60e3, 185 * 60e3, 30 * 3600e3].map(since), ["now", "40 s", "12 min", "3 h 5 min", "1 d 6 h"]);
});

const questions = {
  questions: [
    { question: "Which?", header: "H", options: [{ label: "Red", description: "Warm" }, { label: "Blue" }], multiSelect: false },
    { question: "Toppings?", options: [{ label: "Salt" }, { label: "Basil" }], multiSelect: true },
  ],
  extra: 1,
};

test("answers", () => {
  const r = request({ toolName: "AskUserQuestion", toolInput: questions });
  const qs = questionsOf(r)!;
  assert.equal(qs.length, 2);
  const choose = (labels: string[], other = "", useOther = false) => ({ labels, other, useOther });
  assert.equal(answerOf(qs[1]!, choose(["Basil", "Salt"])), "Salt, Basil");
  assert.equal(answerOf(qs[1]!, choose(["Salt"], " pepper ", true)), "Salt, pepper");
  assert.equal(answerOf(qs[0]!, choose([], "  ", true)), "");
  assert.equal(answerOf(qs[0]!, choose(["Red"], "left over", false)), "Red");
  assert.equal(updatedInput(r, qs, [choose(["Red"])]), undefined, "one answer is missing");
  assert.deepEqual(updatedInput(r, qs, [choose(["Red"]), choose(["Salt"])]), { ...questions, answers: { "Which?": "Red", "Toppings?": "Salt" } });
});

test("questions that cannot be a form", () => {
  for (const toolInput of [undefined, {}, { questions: [] }, { questions: [1] }, { questions: [{ question: 1 }] }, { questions: [{ question: "a", options: [{ label: "A", description: "1" }, { label: "A", description: "2" }] }] }, { questions: [{ question: "a", options: ["x"] }] }, { questions: [{ question: "a" }, { question: "a" }] }]) {
    assert.equal(questionsOf(request({ ...(toolInput ? { toolInput } : {}) })), undefined, JSON.stringify(toolInput));
  }
  assert.equal(questionsOf(request({ toolInput: questions, uninspectable: "why" })), undefined);
});

test("what the form does not show is shown beside it", () => {
  const names = ["questions[0].question", "questions[0].header", "questions[0].multiSelect", "questions[1].options[0].label", "questions[1].options[0].description", "questions[0].options[0].preview", "questions[0].odd", "extra"];
  assert.deepEqual(besides(names.map((name) => (name.endsWith("multiSelect") ? { name, text: "true", kind: "json" as const } : { name, text: "", kind: "text" as const }))).map((f) => f.name), names.slice(5));
});

test("long texts keep head and tail", () => {
  assert.equal(isLong("a\n".repeat(30)), false);
  assert.equal(isLong("a\n".repeat(31)), true);
  assert.equal(isLong("a".repeat(3001)), true);
  assert.equal(lineCount("a\nb"), 2);
  const lines = Array.from({ length: 100 }, (_, i) => `line ${i}`).join("\n");
  const cut = headAndTail(lines);
  assert.equal(cut.hidden, "78 lines");
  assert.ok(cut.head.endsWith("line 13") && cut.tail.startsWith("line 92"));
  const wide = "x".repeat(1599) + "😀".repeat(2000) + "rm -rf ~";
  const c = headAndTail(wide);
  assert.ok(c.tail.endsWith("rm -rf ~"));
  assert.ok(c.head.isWellFormed() && c.tail.isWellFormed(), "no character is cut in two");
  assert.equal(c.head.length + Number(c.hidden.split(" ")[0]) + c.tail.length, wide.length);
});

test("backoff stays in its bounds", () => {
  for (let n = 0; n < 50; n++) {
    for (const random of [0, 0.5, 0.999]) assert.ok(backoff(n, random) >= 250 && backoff(n, random) <= 30_000);
  }
  assert.ok(backoff(6, 0) > backoff(0, 0.999));
});

test("no two fields have the same label, and none has none", () => {
  const names = ["file_path", "File", "constructor", "toString", "__proto__", "valueOf", "edits[0].file_path", "edits[0].File", "edits[0].constructor"];
  const all = names.map(label);
  assert.deepEqual(all.slice(0, 2), ["File", '"File"']);
  for (const [i, l] of all.entries()) assert.equal(typeof l, "string", names[i]);
  assert.equal(new Set(all).size, names.length);
});

test("what the form of a question has no place for is shown beside it", () => {
  for (const name of ["questions[0].header", "questions[0].options[1].label", "questions[0].options[1].description"]) {
    assert.equal(besides([{ name, text: '["hidden"]', kind: "json" }]).length, 1, name);
  }
  assert.equal(besides([{ name: "questions[0].multiSelect", text: "yes", kind: "text" }]).length, 1);
  assert.equal(besides([{ name: "questions[0].multiSelect", text: '{"a":1}', kind: "json" }]).length, 1);
});

test("the name of an approver is made visible", () => {
  const by = { kind: "device", name: "phone\u202e\u200b" } as const;
  assert.equal(outcomeLine(ended({ outcome: "denied", decidedBy: by }), 0)?.text, "Denied on “phone⟦U+202E⟧⟦U+200B⟧”.");
});

test("who may be revoked", () => {
  const d = (id: string, role: string) => ({ id, role });
  assert.ok(mayRevoke(undefined, d("a", "admin")));
  assert.ok(mayRevoke(d("a", "view"), d("a", "view")));
  assert.ok(!mayRevoke(d("a", "view"), d("b", "view")));
  assert.ok(mayRevoke(d("a", "approve"), d("b", "approve")));
  assert.ok(!mayRevoke(d("a", "approve"), d("b", "admin")));
  assert.ok(mayRevoke(d("a", "admin"), d("b", "admin")));
});

test("the gist of a command", () => {
  assert.equal(gistOf("npm test"), "npm test");
  assert.equal(gistOf("set -e\nrm -rf build"), "set -e …");
  assert.equal(gistOf("x".repeat(200)), "x".repeat(80) + "…");
  assert.equal(gistOf("x".repeat(79) + "😀😀"), "x".repeat(79) + "…"); // no half of a letter
});
