import assert from "node:assert/strict";
import { test } from "node:test";
import { hostOf } from "./host";

test("a message is signed for the host that is shown, and for no other", () => {
  assert.equal(hostOf(undefined), "");
  assert.equal(hostOf({ hostname: "box" }), "");
  assert.equal(hostOf({ hostname: "box", hostId: "box#0123456789abcdef" }), "box#0123456789abcdef");
  assert.equal(hostOf({ hostname: "box (3f9a0c12)", hostId: "box#0123456789abcdef" }), "box#0123456789abcdef");
  assert.equal(hostOf({ hostname: "a#b", hostId: "a#b#0123456789abcdef" }), "a#b#0123456789abcdef");
  for (const agent of [{ hostname: "box", hostId: "laptop#0123456789abcdef" }, { hostId: "laptop#0123456789abcdef" }, { hostname: "box", hostId: "0123456789abcdef" }]) {
    assert.throws(() => hostOf(agent), /laptop|box/);
  }
});
