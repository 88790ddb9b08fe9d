// What the keyboard does on the page. A letter acts on the request that has the focus, through its
// own buttons, so that what holds for a finger holds for a key: nothing that just moved, nothing
// that was not shown whole.
import { wanted } from "../card/answer";
import { announcement, groups, selected, standing } from "../queue/state";
import { words } from "../text/words";
import { settings, view } from "../view";
import { actionOf, type Action } from "./keymap";
import { preferences } from "./preferences";

const pause = 2000; // ms without a letter, after which one is no longer part of a text
let typed = -Infinity; // when the last letter of a text was typed

export function startKeys(): void {
  document.addEventListener("click", () => (typed = -Infinity), true);
  document.addEventListener("keydown", (e) => {
    if (ofText(e)) return;
    const { keys, keymap } = preferences.peek();
    if (!keys || standing.peek() !== "in" || settings.peek() || e.ctrlKey || e.altKey || e.metaKey || e.isComposing || e.defaultPrevented) return;
    const action = actionOf(keymap, e.key);
    if (!action || (e.repeat && action !== "next" && action !== "previous")) return;
    if (run(action)) e.preventDefault();
  });
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
    case "choose":
      return pick();
    case "waiting":
      return nextWaiting();
    case "search":
      return search();
    case "help":
      settings.value = "keyboard";
      return true;
  }
}

const requests = ".queue .card, .queue .one:not(.over)";

function current(): HTMLElement | null {
  return (document.activeElement?.closest(requests) as HTMLElement | null) ?? null;
}

function step(by: 1 | -1): boolean {
  view.value = "inbox";
  const all = [...document.querySelectorAll<HTMLElement>(requests)];
  const here = current();
  const next = here ? all[all.indexOf(here) + by] : by > 0 ? all[0] : all[all.length - 1];
  if (next) focusOn(next);
  return true;
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
  const card = document.activeElement?.closest(".card");
  const scope = card ?? many;
  if (!scope) return noneHasFocus();
  const button = scope.querySelector<HTMLButtonElement>(card ? `.two .${which}` : `.${which}`);
  button?.click();
  if (button?.ariaDisabled === "true") announcement.value = scope.querySelector(".obstacle, p")?.textContent ?? "";
  return true;
}

/** Opens one of a card's other answers. */
function want(mode: "edit" | "words"): boolean {
  const id = document.activeElement?.closest<HTMLElement>(".card:not(.over)")?.dataset["request"];
  if (!id) return noneHasFocus();
  wanted.value = { id, mode };
  return true;
}

function noneHasFocus(): boolean {
  announcement.value = words.settings.chooseFirst(preferences.peek().keymap.next);
  return true;
}

function pick(): boolean {
  const box = current()?.querySelector<HTMLInputElement>(".pick input");
  box?.click();
  return !!box;
}

/** Goes on to the next session in which something waits, in the order of the rail. */
function nextWaiting(): boolean {
  view.value = "inbox";
  const ids = groups.peek().filter((g) => g.waiting > 0).map((g) => g.sessionId);
  if (ids.length === 0) return true;
  selected.value = ids[(ids.indexOf(selected.peek()) + 1) % ids.length]!;
  const first = (tries: number) => {
    const all = [...document.querySelectorAll<HTMLElement>(requests)];
    const shown = document.querySelectorAll(".queue .group").length === 1 || preferences.peek().many;
    if (shown && all[0]) focusOn(all[0]);
    else if (tries > 0) requestAnimationFrame(() => first(tries - 1));
  };
  requestAnimationFrame(() => first(10)); // when it is drawn
  return true;
}

function search(): boolean {
  const box = document.querySelector<HTMLInputElement>("main input[type=search], .feed input[type=search]");
  box?.focus();
  box?.select();
  return true;
}
