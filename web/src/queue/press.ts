// Whether a finger, a mouse button or a key that presses buttons is down. What comes up under one
// takes nothing from it: it has to be lifted first, see arm.ts.
import { computed, signal } from "@preact/signals";

const down = signal<ReadonlySet<string>>(new Set());

/** Whether anything is pressed now. */
export const pressed = computed(() => down.value.size > 0);

const pressing: ReadonlySet<string> = new Set(["Enter", " "]); // the keys that press a button which has the focus

/** Keeps pressed up to date. What a script pretends to press does not count. */
export function watchPresses(): void {
  const set = (name: string, yes: boolean) => {
    if (down.peek().has(name) === yes) return;
    const next = new Set(down.peek());
    if (yes) next.add(name);
    else next.delete(name);
    down.value = next;
  };
  addEventListener("pointerdown", (e) => {
    if (!e.isTrusted) return;
    // The first finger of several: of the others none can be left, whatever became of their end.
    if (e.isPrimary) for (const name of down.peek()) if (name.startsWith(e.pointerType)) set(name, false);
    set(`${e.pointerType} ${e.pointerId}`, true);
  }, true);
  for (const up of ["pointerup", "pointercancel"] as const) addEventListener(up, (e) => set(`${e.pointerType} ${e.pointerId}`, false), true);
  addEventListener("keydown", (e) => e.isTrusted && pressing.has(e.key) && set(e.key, true), true);
  addEventListener("keyup", (e) => set(e.key, false), true);
  const none = () => (down.value = new Set());
  addEventListener("blur", none); // the end of what is pressed now is told to another window
  document.addEventListener("visibilitychange", none);
}
