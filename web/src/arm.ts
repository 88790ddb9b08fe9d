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

function near(a: [number, number], b: [number, number]): boolean {
  return Math.abs(a[0] - b[0]) <= 1 && Math.abs(a[1] - b[1]) <= 1;
}

export function useArm(foot: RefObject<HTMLElement | null>): Arm {
  const place = useRef<{ page: [number, number]; view: [number, number]; since: number }>({ page: [NaN, NaN], view: [NaN, NaN], since: Infinity });
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const [armed, setArmed] = useState(false);

  const measure = useCallback(() => {
    const box = foot.current?.getBoundingClientRect();
    if (!box) return;
    // Scrolling is the person's own doing: it leaves a foot at its place on the page, or, where
    // it sticks to the screen's edge, at its place on the screen.
    const view: [number, number] = [box.left, box.top];
    const page: [number, number] = [box.left + scrollX, box.top + scrollY];
    const p = place.current;
    const still = near(page, p.page) || near(view, p.view);
    place.current = { page, view, since: still ? p.since : performance.now() };
    if (still) return;
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
