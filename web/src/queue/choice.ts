// Several requests that somebody chose to answer alike, as plain functions. A choice is of exact
// requests with the digests of what was seen: what comes later, or has changed, is not in it.
import { needsAnswer } from "../broker/tools";
import { pressOf, readWhole } from "./friction";
import type { Item, Request } from "./model";
import { shownOf } from "./model";

/** The digest of the input by the request's id. */
export type Chosen = ReadonlyMap<string, string>;

export function toggled(chosen: Chosen, requests: readonly Request[], yes: boolean): Chosen {
  const next = new Map(chosen);
  for (const r of requests) {
    if (yes) next.set(r.id, r.inputSha256);
    else next.delete(r.id);
  }
  return next;
}

/** What of a choice still waits as it was when it was chosen, and what does not. */
export function standing(chosen: Chosen, items: ReadonlyMap<string, Item>): { good: Item[]; stale: string[] } {
  const good: Item[] = [];
  const stale: string[] = [];
  for (const [id, digest] of chosen) {
    const item = items.get(id);
    if (item && canAnswer(item) && item.request.inputSha256 === digest) good.push(item);
    else stale.push(id);
  }
  return { good, stale };
}

/** It waits, and no answer of ours is under way. */
export function canAnswer(item: Item): boolean {
  return !item.endedAt && !item.lost && (!item.attempt || item.attempt.phase === "failed");
}

/** What of a row was on the screen: its line; its line, with nothing in it folded any more; or all that
 * it is about. */
export type Read = "" | "line" | "open" | "whole";

/** Why it cannot be allowed among others: it is dangerous or wants an answer of its own, or not
 * enough of it was on the screen. */
export function hindrance(item: Item, read: Read): "" | "own" | "unseen" {
  const { request: r } = item;
  const shown = shownOf(item);
  if (pressOf(r) === "hold" || needsAnswer(r.toolName) || r.event || r.uninspectable || !shown || (r.partial && !item.whole)) return "own";
  return read === "whole" || (read === "open" && !readWhole(r, shown.fields)) ? "" : "unseen";
}

export interface Tally {
  done: number;
  settled: number;
  failed: number;
}

export type Result = "taken" | "settled" | "failed" | "held back";

/** What became of all of them. */
export function tally(results: readonly Result[]): Tally {
  const count = (r: Result) => results.filter((x) => x === r).length;
  return { done: count("taken"), settled: count("settled"), failed: count("failed") + count("held back") };
}

/** Runs work over all, a few at a time, and keeps their order. */
export async function each<T, R>(all: readonly T[], atOnce: number, work: (x: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const one = async () => {
    for (let i = next++; i < all.length; i = next++) results[i] = await work(all[i]!);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, all.length) }, one));
  return results;
}
