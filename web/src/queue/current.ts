// Which request is before the reader, what follows it, and what has just been settled. A card
// comes and goes by what the reader does and by its own end: arrivals move and replace none.
import { computed, effect, signal } from "@preact/signals";
import { preferences } from "../panels/preferences";
import { folded, inOrder, isSettled, waits, type Entry } from "./model";
import { items, standing, together } from "./state";

const lifted = 250; // ms after a finger has left a card until the card may go: the browser may still make a tap of it
const stays = 4000; // ms that the line about a settled request stays
const staysBad = 8000; // where something has to be read

/** What waits, identical requests together, in the order in which it comes up. */
export const entries = computed<readonly Entry[]>(() => folded(inOrder([...items.value.values()].filter(waits), preferences.value.order)));
const sequence = computed<readonly string[]>(() => entries.value.flatMap((e) => e.items.map((i) => i.request.id)));

/** The id of the request before the reader, "" for none. */
export const current = signal("");
/** On a narrow screen: the list is shown instead of a card. */
export const listing = signal(false);
/** Where in the order the request before the reader is, from 1; 0 where it no longer waits. */
export const position = computed(() => sequence.value.indexOf(current.value) + 1);

/** The request of which the line at the foot of the screen tells that it is settled, "" for none. */
export const toast = signal("");

/** Brings a request before the reader. */
export function show(id: string): void {
  listing.value = false;
  put(id);
}

/** The request after or before the one that is shown; false where there is none. */
export function step(by: 1 | -1): boolean {
  const all = sequence.peek();
  const next = all[all.indexOf(current.peek()) + by];
  if (next === undefined) return false;
  show(next);
  return true;
}

/** Leaves a request that is over for what waits. */
export function leaveOver(): void {
  show(sequence.peek()[0] ?? "");
}

/** The page goes to its top before the card is drawn: what was never on the screen was not seen. */
function put(id: string): void {
  if (current.peek() === id) return;
  scrollTo(0, 0);
  together.value = [];
  current.value = id;
}

const touched = signal(false); // a finger or mouse button is down on a card, or was a moment ago
let down = false; // anywhere

/** Keeps a request before the reader. */
export function startCurrent(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  addEventListener(
    "pointerdown",
    (e) => {
      down = true;
      if (!(e.target instanceof Element && e.target.closest(".card"))) return;
      clearTimeout(timer);
      touched.value = true;
    },
    true,
  );
  for (const up of ["pointerup", "pointercancel", "blur"]) {
    addEventListener(
      up,
      () => {
        down = false;
        clearTimeout(timer);
        timer = setTimeout(() => (touched.value = false), lifted);
      },
      true,
    );
  }
  let before: readonly string[] = [];
  effect(() => {
    const all = sequence.value;
    const id = current.peek();
    const item = items.value.get(id);
    const held = touched.value && !!item;
    if (held && !all.includes(id)) return; // it goes when the finger is lifted
    const follows = before.slice(before.indexOf(id) + 1).find((next) => all.includes(next));
    before = all;
    if (all.includes(id) || item?.kept) return;
    put(follows ?? all[0] ?? "");
  });
  startToasts();
}

/** Tells of what was settled, by whomever, and of what could not be sent. */
function startToasts(): void {
  let known = new Map<string, string>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const end = () => {
    if (down) timer = setTimeout(end, 500); // not under a finger
    else toast.value = "";
  };
  effect(() => {
    const next = new Map<string, string>();
    let id = "";
    let bad = false;
    let back = ""; // an answer was taken back
    for (const item of items.value.values()) {
      const failed = item.attempt?.phase === "failed";
      const state = isSettled(item) ? "settled" : failed ? "failed" : waits(item) ? "" : "held";
      next.set(item.request.id, state);
      const was = known.get(item.request.id);
      if (was === "held" && state === "") back = item.request.id;
      if (was === undefined || was === state || state === "" || state === "held" || (state === "failed" && item.request.id === current.peek())) continue;
      id = item.request.id;
      bad = item.attempt?.phase !== "taken";
    }
    known = next;
    if (back) show(back);
    if (standing.value !== "in") toast.value = "";
    else if (id && !preferences.peek().many) {
      toast.value = id;
      clearTimeout(timer);
      timer = setTimeout(end, bad ? staysBad : stays);
    }
  });
}
