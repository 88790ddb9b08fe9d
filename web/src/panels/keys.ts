// What the keyboard does on the page. A letter acts on the request that has the focus, through its
// own buttons, so that what holds for a finger holds for a key: nothing that just moved, nothing
// that was not shown whole.
import { effect } from "@preact/signals";
import { wanted } from "../card/answer";
import { current as shownId, entries, show, step as stepCard } from "../queue/current";
import { announcement, items, standing } from "../queue/state";
import { words } from "../text/words";
import { go, section, view, type View } from "../view";
import { actionOf, type Action } from "./keymap";
import { preferences } from "./preferences";

const pause = 2000; // ms without a letter, after which one is no longer part of a text
let helpFrom: View | undefined; // where the list of keys was called up
let typed = -Infinity; // when the last letter of a text was typed

export function startKeys(): void {
  effect(shownOnButtons);
  document.addEventListener("click", () => (typed = -Infinity), true);
  document.addEventListener("keydown", (e) => {
    if (ofText(e)) return;
    if (e.key === "Escape" && leaveHelp()) return e.preventDefault();
    const { keys, keymap } = preferences.peek();
    if (!keys || standing.peek() !== "in" || e.ctrlKey || e.altKey || e.metaKey || e.isComposing || e.defaultPrevented) return;
    const action = actionOf(keymap, e.key);
    if (!action || (e.repeat && action !== "next" && action !== "previous")) return;
    if (run(action)) e.preventDefault();
  });
}

/** Has the buttons that answer show their keys; see layout.css. */
function shownOnButtons(): void {
  const { keys, keymap } = preferences.value;
  for (const a of ["allow", "deny"] as const) document.documentElement.style.setProperty(`--key-${a}`, keys && keymap[a] ? JSON.stringify(keymap[a].toUpperCase()) : "none");
}

/** Whether a key belongs to a text that somebody types. A box may go away under the hands, with its
 * request; what is typed on must not answer another. Any key that is no letter ends the text. */
function ofText(e: KeyboardEvent): boolean {
  const inBox = typing(e.target);
  const letter = [...e.key].length === 1 || e.isComposing;
  if (letter && (inBox || e.timeStamp - typed < pause)) typed = e.timeStamp;
  else if (!["Shift", "CapsLock", "Backspace", "Dead"].includes(e.key)) typed = -Infinity;
  return inBox || typed === e.timeStamp;
}

function typing(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement) return true;
  return target instanceof HTMLInputElement && target.type !== "checkbox" && target.type !== "radio";
}

/** False where the key is left to the browser. */
function run(action: Action): boolean {
  switch (action) {
    case "next":
    case "previous":
      return step(action === "next" ? 1 : -1);
    case "allow":
    case "deny":
      return press(action);
    case "edit":
      return want("edit");
    case "reply":
      return want("words");
    case "terminal":
      return want("handback");
    case "choose":
      return pick();
    case "waiting":
      return nextWaiting();
    case "search":
      return search();
    case "help":
      if (leaveHelp()) return true;
      helpFrom = view.peek();
      go("you", "keyboard");
      return true;
  }
}

/** Goes back to where the list of keys was called up, and to the request there. */
function leaveHelp(): boolean {
  const from = helpFrom;
  helpFrom = undefined;
  if (!from || view.peek() !== "you" || section.peek() !== "keyboard") return false;
  go(from);
  if (from === "inbox") focusSoon();
  return true;
}

const row = ".queue .many-row:not(.over)"; // of Many at once
const card = ".detail .card";

function current(): HTMLElement | null {
  return (document.activeElement?.closest(`${row}, ${card}`) as HTMLElement | null) ?? null;
}

function step(by: 1 | -1): boolean {
  go("inbox");
  const here = current();
  if (preferences.peek().many) {
    const all = [...document.querySelectorAll<HTMLElement>(row)];
    const next = here ? all[all.indexOf(here) + by] : by > 0 ? all[0] : all[all.length - 1];
    if (next) focusOn(next);
    return true;
  }
  if (here || by < 0) stepCard(by);
  focusSoon();
  return true;
}

/** Gives the card the focus when it is drawn, unless a key pressed since then has put it into the card. */
function focusSoon(tries = 10): void {
  requestAnimationFrame(() => {
    const shown = document.querySelector<HTMLElement>(card);
    if (shown?.contains(document.activeElement) && shown !== document.activeElement) return;
    if (shown && (preferences.peek().many || shown.dataset["request"] === shownId.peek())) focusOn(shown);
    else if (tries > 0) focusSoon(tries - 1);
  });
}

/** Brings a request before the reader. The focus goes to the whole of it, or to its checkbox; never
 * to what answers. */
export function focusOn(request: HTMLElement): void {
  const target = request.matches(".card") ? request : (request.querySelector<HTMLElement>("input") ?? request);
  target.focus({ preventScroll: true });
  request.scrollIntoView({ block: request.offsetHeight > innerHeight - 120 ? "start" : "nearest" });
}

function press(which: "allow" | "deny"): boolean {
  if (view.peek() !== "inbox") return false;
  const many = document.querySelector(".together");
  const here = document.activeElement?.closest(".card");
  const scope = here ?? many;
  if (!scope) return noneHasFocus();
  const button = scope.querySelector<HTMLButtonElement>(`${here ? "[data-ui=answers] " : ""}[data-action=${which}]`);
  button?.click();
  if (button?.ariaDisabled === "true") announcement.value = scope.querySelector(".obstacle, p")?.textContent ?? "";
  return true;
}

/** Opens one of a card's other answers. */
function want(mode: "edit" | "words" | "handback"): boolean {
  const id = document.activeElement?.closest<HTMLElement>(".card:not(.over)")?.dataset["request"];
  if (!id) return noneHasFocus();
  wanted.value = { id, mode };
  return true;
}

function noneHasFocus(): boolean {
  announcement.value = words.list.chooseFirst(preferences.peek().keymap.next);
  return true;
}

function pick(): boolean {
  const box = current()?.querySelector<HTMLInputElement>(".pick input");
  box?.click();
  return !!box;
}

/** Goes on to the next session in which something waits, in the order of the inbox. */
function nextWaiting(): boolean {
  go("inbox");
  const firsts = new Map<string, string>();
  for (const i of entries.peek().flatMap((e) => e.items)) if (!firsts.has(i.request.sessionId)) firsts.set(i.request.sessionId, i.request.id);
  const ids = [...firsts.keys()];
  const here = current() ? ids.indexOf(items.peek().get(shownId.peek())?.request.sessionId ?? "") : -1;
  const next = ids[(here + 1) % ids.length];
  if (next === undefined) return true;
  show(firsts.get(next)!);
  focusSoon();
  return true;
}

function search(): boolean {
  const box = document.querySelector<HTMLInputElement>("main input[type=search], .feed input[type=search]");
  box?.focus();
  box?.select();
  return true;
}
