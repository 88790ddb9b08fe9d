// Which rows of a long list have been on the screen, whole: as seen.ts asks it of a card's parts,
// but looking only at the rows that are near the screen.
import { useSignal, type ReadonlySignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { add, covered, looks, lowest } from "./seen";

interface Looked {
  height: number;
  spans: [number, number][];
}

/** The ids (data-request) of the list's rows that were seen as they are now. A signal: it changes
 * with every scroll, and a thousand rows need not be gone through for that. */
export function useSeenRows(list: RefObject<HTMLElement | null>, bar: RefObject<HTMLElement | null>): ReadonlySignal<ReadonlySet<string>> {
  const seen = useSignal<ReadonlySet<string>>(new Set());
  const state = useRef({ near: new Set<HTMLElement>(), looked: new Map<string, Looked>(), done: new Map<string, number>(), frame: 0 }).current;
  const observer = useRef<IntersectionObserver | undefined>(undefined);

  const look = () => {
    if (document.hidden) return;
    const bottom = lowest(bar.current);
    const alarms = covered();
    let news = false;
    for (const row of state.near) {
      if (!row.isConnected) {
        state.near.delete(row);
        continue;
      }
      const box = row.getBoundingClientRect();
      const id = row.dataset["request"]!;
      const done = state.done.get(id);
      if (done !== undefined && box.height <= done + 2) continue;
      if (done !== undefined) news = state.done.delete(id);
      let l = state.looked.get(id);
      if (!l || Math.abs(l.height - box.height) > 2) state.looked.set(id, (l = { height: box.height, spans: [] }));
      const head = row.closest(".alike")?.querySelector("header")?.getBoundingClientRect().bottom ?? 0; // it sticks to the top
      const from = Math.max(0, Math.max(alarms, head) - box.top);
      const to = Math.min(box.height, bottom - box.top);
      if (to > from && add(l.spans, from, to, box.height)) {
        state.done.set(id, box.height);
        state.looked.delete(id);
        news = true;
      }
    }
    if (news) seen.value = new Set(state.done.keys());
  };
  const soon = () => {
    cancelAnimationFrame(state.frame);
    state.frame = requestAnimationFrame(look);
  };

  useEffect(() => {
    observer.current = new IntersectionObserver((entries) => {
      for (const e of entries) state.near[e.isIntersecting ? "add" : "delete"](e.target as HTMLElement);
      soon();
    }, { rootMargin: "200px" });
    const events = looks();
    for (const [target, name] of events) target.addEventListener(name, soon, { passive: true, capture: true });
    return () => {
      cancelAnimationFrame(state.frame);
      observer.current?.disconnect();
      for (const [target, name] of events) target.removeEventListener(name, soon, { capture: true });
    };
  }, []);
  const watched = useRef(new WeakSet<Element>()).current;
  useEffect(() => {
    for (const row of list.current?.querySelectorAll<HTMLElement>(".one") ?? []) {
      if (!watched.has(row)) observer.current?.observe(row);
      watched.add(row);
    }
  });
  useLayoutEffect(soon);
  return seen;
}
