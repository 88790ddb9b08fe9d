// A button that moved under a finger must not take the tap. A foot's buttons work only when
// they have stood where they are for half a second.
import type { RefObject } from "preact";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

const settle = 500; // ms

export interface Arm {
  /** What the buttons look like. */
  armed: boolean;
  /** Asked at the tap itself: measures again, because not every move is announced. */
  ready(): boolean;
}

export function useArm(foot: RefObject<HTMLElement | null>): Arm {
  const anchor = useRef<{ x: number; y: number; tall: number; since: number }>({ x: NaN, y: NaN, tall: NaN, since: Infinity });
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const [armed, setArmed] = useState(false);

  const measure = useCallback(() => {
    if (!foot.current) return;
    // In the page's coordinates: scrolling is the person's own doing. The foot of a card sticks
    // to the screen's edge; where it belongs is the card's end.
    const card = foot.current.closest(".card");
    const box = (card ?? foot.current).getBoundingClientRect();
    const x = box.left + scrollX;
    const y = (card ? box.bottom : box.top) + scrollY;
    // A phone's keyboard lies over the buttons, and is gone in no time: when the request goes away
    // that somebody writes an answer to, the next letter would be a tap on another.
    const tall = visualViewport?.height ?? 0;
    const p = anchor.current;
    if (Math.abs(x - p.x) <= 1 && Math.abs(y - p.y) <= 1 && Math.abs(tall - p.tall) <= 1) return;
    anchor.current = { x, y, tall, since: performance.now() };
    setArmed(false);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setArmed(true), settle);
  }, [foot]);

  useLayoutEffect(measure);
  useEffect(() => {
    const observer = new ResizeObserver(measure);
    observer.observe(document.body);
    visualViewport?.addEventListener("resize", measure);
    return () => {
      observer.disconnect();
      visualViewport?.removeEventListener("resize", measure);
      clearTimeout(timer.current);
    };
  }, [measure]);

  const ready = useCallback(() => {
    measure();
    return performance.now() - anchor.current.since >= settle;
  }, [measure]);
  return { armed, ready };
}

/** How much of the screen a phone's keyboard leaves; see useArm. */
export function useTall(): number {
  const [tall, setTall] = useState(visualViewport?.height ?? 0);
  useEffect(() => {
    const look = () => setTall(visualViewport?.height ?? 0);
    visualViewport?.addEventListener("resize", look);
    return () => visualViewport?.removeEventListener("resize", look);
  }, []);
  return tall;
}
