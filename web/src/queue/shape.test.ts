import assert from "node:assert/strict";
import { test } from "node:test";
import { actionOf, defaultKeys, rebind } from "../panels/keymap";
import { each, standing, toggled } from "./choice";
import type { Item, Request } from "./model";
import { commandShape, pathShape } from "./shape";

test("commands are put together by program and subcommand", () => {
  for (const [command, shape] of [
    ["git push origin main", "git push"],
    ["git -C /x status", "git"],
    ["FOO=1 sudo /usr/bin/git push", "git push"],
    ["rm -rf build", "rm"],
    ["npm run build && rm -rf ~", "npm run …"],
    ["echo `id`", "echo …"],
    ["  ", ""],
    ["constructor", "constructor"],
  ] as const) {
    assert.equal(commandShape(command), shape, command);
  }
});

test("paths are put together by their directory below the repository", () => {
  assert.equal(pathShape("/src/app/a/b/c.go", "/src/app"), "a/b/");
  assert.equal(pathShape("/src/app/a.go", "/src/app"), "./");
  assert.equal(pathShape("/src/app2/a.go", "/src/app"), "/src/app2");
  assert.equal(pathShape("", "/src/app"), "");
});

const item = (id: string, digest: string, more: Partial<Item> = {}): Item => ({ request: { id, inputSha256: digest } as Request, endedAt: 0, ...more });

test("a choice holds only while what was chosen waits as it was", () => {
  const chosen = toggled(new Map(), [item("a", "1").request, item("b", "2").request, item("c", "3").request, item("d", "4").request], true);
  const now = new Map([
    ["a", item("a", "1")],
    ["b", item("b", "other")],
    ["c", item("c", "3", { endedAt: 1 })],
    ["e", item("e", "5")],
  ]);
  const { good, stale } = standing(chosen, now);
  assert.deepEqual(good.map((i) => i.request.id), ["a"]);
  assert.deepEqual(stale, ["b", "c", "d"]);
  const sending = item("a", "1", { attempt: { phase: "sending", behavior: "allow", at: 0 } });
  assert.deepEqual(standing(toggled(new Map(), [sending.request], true), new Map([["a", sending]])).stale, ["a"]);
});

test("each keeps the order and the bound", async () => {
  let running = 0;
  let most = 0;
  const got = await each([3, 1, 2, 5, 4], 2, async (n) => {
    most = Math.max(most, ++running);
    for (let i = 0; i < n; i++) await Promise.resolve();
    running--;
    return n * 10;
  });
  assert.deepEqual(got, [30, 10, 20, 50, 40]);
  assert.equal(most, 2);
});

test("no key does two things", () => {
  assert.equal(actionOf(defaultKeys, "a"), "allow");
  const moved = rebind(defaultKeys, "deny", "a");
  assert.equal(actionOf(moved, "a"), "deny");
  assert.equal(moved.allow, "");
  assert.equal(actionOf(moved, ""), undefined);
});
