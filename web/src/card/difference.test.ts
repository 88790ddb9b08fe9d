import assert from "node:assert/strict";
import { test } from "node:test";
import { changedIn } from "./difference";

test("the lines of a difference", () => {
  assert.deepEqual(changedIn("command (changed)\n- a\n+ b\ntimeout (added)\n+ 5"), [
    { name: "command (changed)", before: ["a"], after: ["b"] },
    { name: "timeout (added)", before: [], after: ["5"] },
  ]);
  assert.deepEqual(changedIn("command (changed)\n  set -e\n- - x\n+ + x\n…"), [
    { name: "command (changed)", before: ["set -e", "- x"], after: ["set -e", "+ x"] },
    { name: "…", before: [], after: [] },
  ]);
  assert.deepEqual(changedIn("- a"), [{ name: "- a", before: [], after: [] }]); // what is cut at its beginning says nothing wrong
});
