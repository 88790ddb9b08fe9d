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
  const place = useRef<{ x: number; y: number; since: number }>({ x: NaN, y: NaN, since: Infinity });
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
    const p = place.current;
    if (Math.abs(x - p.x) <= 1 && Math.abs(y - p.y) <= 1) return;
    place.current = { x, y, since: performance.now() };
    setArmed(false);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setArmed(true), settle);
  }, [foot]);

  useLayoutEffect(measure);
  useEffect(() => {
    const observer = new ResizeObserver(measure);
    observer.observe(document.body);
    return () => {
      observer.disconnect();
      clearTimeout(timer.current);
    };
  }, [measure]);

  const ready = useCallback(() => {
    measure();
    return performance.now() - place.current.since >= settle;
  }, [measure]);
  return { armed, ready };
}
