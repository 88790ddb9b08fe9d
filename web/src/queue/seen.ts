// What of a card has been on the screen. A part counts when all of its height was in view, at
// once or one piece after the other, while the page was visible; what changes its height has to
// be seen anew.
import type { RefObject } from "preact";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { onScreen } from "./onscreen";

interface Looked {
  height: number;
  spans: [number, number][];
  seen: boolean;
}

const slack = 2; // px that rounding may lose
const line = 40; // px of a card that have to be in view, for it to be on the screen

/** How far down the screen reaches what sticks to its top, alarms and what was settled: what is behind
 * them is not seen. (On a wide screen what was settled is at the lower edge, beside the card.) */
export function covered(): number {
  const bottoms = [...document.querySelectorAll(".alarms:not(:empty), [data-covers]")].map((e) => e.getBoundingClientRect()).filter((box) => box.top < innerHeight / 2);
  return Math.max(0, visualViewport?.offsetTop ?? 0, ...bottoms.map((box) => box.bottom));
}

/** Where the screen ends below: at what sticks there, or at a phone's keyboard, which browsers lay
 * over a page that keeps its height. */
export function lowest(sticks: HTMLElement | null): number {
  const v = visualViewport;
  return Math.min(innerHeight, v ? v.offsetTop + v.height : innerHeight, sticks?.getBoundingClientRect().top ?? innerHeight);
}

/** When that may have changed. */
export function looks(): [EventTarget, string][] {
  const v: [EventTarget, string][] = visualViewport ? [[visualViewport, "resize"], [visualViewport, "scroll"]] : [];
  return [[document, "scroll"], [window, "resize"], [document, "visibilitychange"], ...v];
}

export interface Unseen {
  names: readonly string[];
  /** Whether the end of the last part was on the screen: somebody went through it. */
  end: boolean;
  /** How far down a part its first piece begins that was not seen. */
  gap(name: string): number;
}

/** Of the card before the reader, how many parts are folded, and how many were not wholly on the screen: an answer signs that. */
export let left = { id: "", folded: 0, unseen: 0 };

export function noteLeft(id: string, folded: number, unseen: number): void {
  left = { id, folded, unseen };
}

/** The parts that have not been seen. foot covers what is behind it. waits is the id of the request, while it does. */
export function useUnseen(card: RefObject<HTMLElement | null>, foot: RefObject<HTMLElement | null>, names: readonly string[], waits: string): Unseen {
  const looked = useRef(new Map<string, Looked>());
  const [unseen, setUnseen] = useState<{ names: readonly string[]; end: boolean }>({ names, end: false });
  const wanted = useRef(names);
  wanted.current = names;

  const look = useCallback(() => {
    if (document.hidden || !card.current) return;
    const top = covered();
    const bottom = lowest(foot.current);
    const { top: from, bottom: to } = card.current.getBoundingClientRect();
    if (waits && Math.min(to, bottom) - Math.max(from, top) > line) onScreen(waits);
    for (const part of card.current.querySelectorAll<HTMLElement>("[data-part]")) {
      const box = part.getBoundingClientRect();
      const name = part.dataset["part"]!;
      let l = looked.current.get(name);
      if (!l || Math.abs(l.height - box.height) > slack) looked.current.set(name, (l = { height: box.height, spans: [], seen: l?.seen === true && box.height <= l.height }));
      if (l.seen) continue;
      const from = Math.max(0, top - box.top);
      const to = Math.min(box.height, bottom - box.top);
      if (to > from) l.seen = add(l.spans, from, to, box.height);
    }
    const left = wanted.current.filter((n) => !looked.current.get(n)?.seen);
    const last = looked.current.get(wanted.current[wanted.current.length - 1] ?? "");
    const end = !!last && (last.seen || last.spans.some((s) => s[1] >= last.height - slack));
    setUnseen((old) => (old.end === end && old.names.length === left.length && old.names.every((n, i) => n === left[i]) ? old : { names: left, end }));
  }, [card, foot, waits]);

  useLayoutEffect(look);
  useEffect(() => {
    let frame = 0;
    const soon = () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(look);
    };
    const observer = new ResizeObserver(soon);
    observer.observe(document.body);
    const events = looks();
    for (const [target, name] of events) target.addEventListener(name, soon, { passive: true, capture: true });
    return () => {
      cancelAnimationFrame(frame);
      observer.disconnect();
      for (const [target, name] of events) target.removeEventListener(name, soon, { capture: true });
    };
  }, [look]);
  const gap = (name: string) => {
    const first = looked.current.get(name)?.spans[0];
    return first && first[0] <= slack ? first[1] : 0;
  };
  return { ...unseen, gap };
}

/** Adds a span to sorted ones, and says whether they cover everything up to height. */
export function add(spans: [number, number][], from: number, to: number, height: number): boolean {
  spans.push([from, to]);
  spans.sort((a, b) => a[0] - b[0]);
  const merged: [number, number][] = [];
  for (const s of spans) {
    const last = merged[merged.length - 1];
    if (last && s[0] <= last[1] + slack) last[1] = Math.max(last[1], s[1]);
    else merged.push([s[0], s[1]]);
  }
  spans.splice(0, spans.length, ...merged);
  return merged.length === 1 && merged[0]![0] <= slack && merged[0]![1] >= height - slack;
}
