// The three seconds in which an answer can be taken back. They only delay the page's own POST:
// nothing was sent, and the request waits as before.
import { signal } from "@preact/signals";
import { preferences } from "../panels/preferences";

const wait = 3000; // ms
const late = 2000; // a timer that is later than this was asleep, and the answer is an old one
const after = 700; // how long the bar stays when it is over: no tap on it falls through

export interface Held {
  id: number;
  what: string;
  /** By performance.now(). */
  until: number;
  /** over: sent or taken back; its button does nothing any more. */
  over: boolean;
}

export const held = signal<readonly Held[]>([]);

const ends = new Map<number, (send: boolean) => void>();
let last = 0;

/** Resolves to whether to send: at once where nobody wants to wait. */
export function hold(what: string): Promise<boolean> {
  if (!preferences.peek().undo) return Promise.resolve(true);
  const id = ++last;
  const due = Date.now() + wait;
  held.value = [...held.value, { id, what, until: performance.now() + wait, over: false }];
  return new Promise((resolve) => {
    const end = (send: boolean) => {
      if (!ends.delete(id)) return;
      clearTimeout(timer);
      held.value = held.value.map((h) => (h.id === id ? { ...h, over: true } : h));
      setTimeout(() => (held.value = held.value.filter((h) => h.id !== id)), after);
      resolve(send);
    };
    const timer = setTimeout(() => end(Date.now() - due < late), wait);
    ends.set(id, end);
  });
}

/** Takes an answer back that was not sent yet. */
export function takeBack(id: number): void {
  ends.get(id)?.(false);
}

/** Takes all of them back: the page is being left. */
export function takeBackAll(): void {
  for (const end of [...ends.values()]) end(false);
}
