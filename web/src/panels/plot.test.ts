import assert from "node:assert/strict";
import { test } from "node:test";
import { panelsWords } from "../text/words/panels";

test("two marks of the chart of times that differ are not called the same", () => {
  const { seconds } = panelsWords.charts;
  assert.deepEqual([0, 0.5, 1, 1.5, 2, 12.3, 120, 7200].map(seconds), ["0 s", "0.5 s", "1 s", "1.5 s", "2 s", "12 s", "2 min", "2 h"]);
});
