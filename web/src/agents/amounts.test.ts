import assert from "node:assert/strict";
import { test } from "node:test";
import { money, span } from "./amounts";

test("amounts", () => {
  assert.deepEqual([5, 5.1, 0.005, 0.004, 0, 12.346].map(money), ["$5", "$5.10", "$0.01", "<$0.01", "$0", "$12.35"]);
  assert.deepEqual([5, 59.6, 300, 3600, 5430, 7199].map(span), ["5 s", "1 min", "5 min", "1 h", "1 h 31 min", "2 h"]);
});
