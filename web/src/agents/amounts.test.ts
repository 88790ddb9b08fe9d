import assert from "node:assert/strict";
import { test } from "node:test";
import { laterWords } from "../text/words/later";
import { money, span } from "./amounts";

test("amounts", () => {
  assert.deepEqual([5, 5.1, 0.005, 0.004, 0, 12.346].map(money), ["$5", "$5.10", "$0.01", "<$0.01", "$0", "$12.35"]);
  assert.deepEqual([5, 59.6, 300, 3600, 5430, 7199].map(span), ["5 s", "1 min", "5 min", "1 h", "1 h 31 min", "2 h"]);
});

test("a little is less than a cent in every sentence, and nothing is about it", () => {
  const w = laterWords.lastTurn;
  assert.deepEqual([0.001, 1.234].map((usd) => laterWords.agents.cost(money(usd))), ["less than $0.01", "about $1.23"]);
  assert.deepEqual(
    [w.cost(money(0.001)), w.costOf(money(0.001), money(5)), w.costOf(money(4.999), money(5)), w.budgetMore(money(0.001), money(0.01), money(3))],
    [
      "Less than $0.01, as the agent's program estimates it",
      "Less than $0.01 of $5, as the agent's program estimates it",
      "About $5 of $5, as the agent's program estimates it",
      "Spent less than $0.01 of $0.01. $3 more?",
    ],
  );
});
