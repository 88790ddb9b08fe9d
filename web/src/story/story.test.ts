import assert from "node:assert/strict";
import { test } from "node:test";
import type { AgentState } from "../broker/types.gen";
import { append, badge, foundLine, listed, most, ofSubagents, prepend, readable, signed, startsOpen, stateDot, type Line, type Story } from "./story";

const line = (pos: number, more: Partial<Line> = {}) =>
  ({ pos, seq: pos, ts: 0, event_id: `s:R1:E${pos}`, run_id: "s:R1", session_id: "s", kind: "notification", level: "info", actor_id: "system", title: `${pos}`, ...more }) as Line;
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => line(from + i));
const positions = (s: Story) => s.lines.map((e) => e.pos).join(" ");
const empty: Story = { sessionId: "s", lines: [], earlier: false };

test("news is appended once", () => {
  let s = append(empty, range(1, 3));
  s = append(s, range(2, 5));
  assert.equal(positions(s), "1 2 3 4 5");
  assert.equal(append(s, range(4, 5)), s);
});

test("older ones come before", () => {
  const s = prepend(append({ ...empty, earlier: true }, range(5, 6)), range(3, 5), true);
  assert.equal(positions(s), "3 4 5 6");
  assert.equal(prepend(s, range(1, 2), false).earlier, false);
});

test("the oldest go, and are said to be missing", () => {
  const s = append(append(empty, range(1, most)), range(most + 1, most + 10));
  assert.equal(s.lines.length, most);
  assert.equal(s.lines[0]!.pos, 11);
  assert.equal(s.earlier, true);
});

test("hidden and folded events", () => {
  assert.equal(readable([line(1, { ui: { hidden: true } }), line(2)]).length, 1);
  assert.equal(startsOpen(line(1, { body: "x" })), true);
  assert.equal(startsOpen(line(1, { body: "x", ui: { collapsed_default: true } })), false);
  assert.equal(startsOpen(line(1, { body: "x".repeat(601) })), false);
});

test("a subagent's requests and their answers are its own", () => {
  const parent = (id: string) => ({ cause: { parent_event_id: id } });
  const lines = [
    line(1, { kind: "tool.pre", actor_id: "subagent:a" }),
    line(2, { kind: "permission.request", data: { agent_id: "a" } } as Partial<Line>),
    line(3, { kind: "permission.request", data: {} } as Partial<Line>),
    line(4, { kind: "permission.decision", ...parent("s:R1:E2") }),
    line(5, { kind: "permission.decision", ...parent("s:R1:E3") }),
    line(6, { kind: "permission.overruled", ...parent("s:R1:E4") }),
    line(7, { kind: "tool.post", actor_id: "agent:root", ...parent("s:R1:E1") }),
  ];
  assert.deepEqual([...ofSubagents(lines)], ["s:R1:E1", "s:R1:E2", "s:R1:E4", "s:R1:E6"]);
});

test("badges that say more than the title", () => {
  assert.equal(badge(line(1, { ui: { badge: "TOOL" } })), "");
  assert.equal(badge(line(1, { level: "error", ui: { badge: "FAIL" } })), "FAIL");
  assert.equal(badge(line(1, { level: "warn" })), "");
});

test("the sign of a title stays with its first word", () => {
  assert.equal(signed("⎿ Bash result"), "↳\u00a0Bash result");
  assert.equal(signed("● Bash(a b)"), "●\u00a0Bash(a b)");
  assert.equal(signed("A session ends"), "A session ends");
});

test("why something was found", () => {
  const e = line(1, { title: "⎿ Bash result", body: "first\n  The Blue one\nblue again" });
  assert.equal(foundLine(e, "blue"), "The Blue one");
  assert.equal(foundLine(e, '"blue one" bash'), "The Blue one");
  assert.equal(foundLine(e, "bash again"), "blue again");
  for (const nothing of ["result", "red", " ", ""]) assert.equal(foundLine(e, nothing), "");
});

test("the rail shows the newest, and none that is over", () => {
  const s = (sessionId: string, startedAt: string, state: "working" | "exited") => ({ sessionId, startedAt, endedAt: startedAt, state, queueCount: 0 });
  const all = [s("a", "2026-01-01T00:00:00Z", "working"), s("b", "2026-01-03T00:00:00Z", "exited"), s("c", "2026-01-02T00:00:00Z", "working"), s("d", "2026-01-04T00:00:00Z", "exited")];
  const ids = (limit: number) => listed(all, limit).map((x) => x.sessionId);
  assert.deepEqual(ids(5), ["c", "a"]);
  assert.deepEqual(ids(1), ["c"]);
});

test("a session's dot says who is waited for", () => {
  const dot = (state: AgentState, turnOver = false) => stateDot({ sessionId: "s", state, turnOver, queueCount: 0 });
  assert.deepEqual((["blocked_on_permission", "ask_user", "plan_prompt", "working", "starting", "waiting_for_input", "exited"] as const).map((s) => dot(s)), ["asks", "asks", "plan", "works", "works", "rests", "rests"]);
  assert.equal(dot("working", true), "rests");
});
