import assert from "node:assert/strict";
import { test } from "node:test";
import { append, listed, most, prepend, readable, startsOpen, type Line, type Story } from "./story";

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

test("the rail shows the newest, and then those that are over", () => {
  const s = (sessionId: string, startedAt: string, state: "working" | "exited") => ({ sessionId, startedAt, endedAt: startedAt, state, queueCount: 0 });
  const all = [s("a", "2026-01-01T00:00:00Z", "working"), s("b", "2026-01-03T00:00:00Z", "exited"), s("c", "2026-01-02T00:00:00Z", "working"), s("d", "2026-01-04T00:00:00Z", "exited")];
  const ids = (limit: number, over: number) => listed(all, limit, over).map((x) => x.sessionId);
  assert.deepEqual(ids(5, 5), ["c", "a", "d", "b"]);
  assert.deepEqual(ids(1, 1), ["c", "d"]);
});
