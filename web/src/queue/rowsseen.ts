// What of the rows of a long list has been on the screen: their line, or all that they are about. As
// seen.ts asks it of a card's parts, but looking only at the rows that are near the screen.
import { useSignal, type ReadonlySignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Read } from "./choice";
import { add, covered, looks, lowest } from "./seen";

interface Looked {
  height: number;
  spans: [number, number][];
  read: Read;
}

const slack = 2; // px that rounding may lose

/** By the ids (data-request) of the list's rows, how much of them was seen as they are now. A
 * signal: it changes with every scroll, and a thousand rows need not be gone through for that. */
export function useReadRows(list: RefObject<HTMLElement | null>, bar: RefObject<HTMLElement | null>): ReadonlySignal<ReadonlyMap<string, Read>> {
  const read = useSignal<ReadonlyMap<string, Read>>(new Map());
  const state = useRef({ near: new Set<HTMLElement>(), looked: new Map<string, Looked>(), frame: 0 }).current;
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
      let l = state.looked.get(id);
      if (!l) state.looked.set(id, (l = { height: box.height, spans: [], read: "" }));
      const whole = isWhole(row);
      const before = l.read;
      if (Math.abs(l.height - box.height) > slack) {
        // Of what is higher than it was there is more to see; what is lower was seen before.
        if (whole && box.height > l.height && (l.read === "whole" || l.read === "open")) l.read = "line";
        l.height = box.height;
        l.spans = [];
      }
      if (l.read !== "whole" && (whole || l.read === "")) {
        const head = row.closest(".alike")?.querySelector("header")?.getBoundingClientRect().bottom ?? 0; // it sticks to the top
        const from = Math.max(0, Math.max(alarms, head) - box.top);
        const to = Math.min(box.height, bottom - box.top);
        const line = row.querySelector<HTMLElement>(".line")?.offsetHeight ?? 0;
        if (to > from && add(l.spans, from, to, box.height) && whole) l.read = "whole";
        else if (l.read === "" && from <= slack && to >= line - slack) l.read = "line";
        if (l.read === "line" && row.dataset["whole"] === "yes") l.read = "open";
      }
      news ||= l.read !== before;
    }
    if (news) read.value = new Map([...state.looked].map(([id, l]) => [id, l.read]));
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
    for (const row of list.current?.querySelectorAll<HTMLElement>("[data-ui=row]") ?? []) {
      if (!watched.has(row)) observer.current?.observe(row);
      watched.add(row);
    }
  });
  useLayoutEffect(soon);
  return read;
}

/** Whether a row holds all that it is about: it is open, and nothing in it is folded; or it is one
 * line of text (data-whole: line) that is not cut, and neither is what it would do. */
function isWhole(row: HTMLElement): boolean {
  const fits = (e: Element) => e.scrollWidth <= e.clientWidth;
  return row.dataset["whole"] === "yes" || (row.dataset["whole"] === "line" && [...row.querySelectorAll(".what > *")].every(fits));
}
