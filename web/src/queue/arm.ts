// A button that came up or moved under a finger must not take the tap. A foot's buttons work only
// when they have been on the screen, where they are, for half a second, and when whatever was
// pressed as they came was lifted.
import { effect } from "@preact/signals";
import type { RefObject } from "preact";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { pressed } from "./press";

const settle = 500; // ms
const most = 0.6; // of the foot that has to be on the screen

export interface Arm {
  /** What the buttons look like. */
  armed: boolean;
  /** Asked at the tap itself: measures again, because not every move is announced. */
  ready(): boolean;
}

interface Anchor {
  x: number;
  y: number;
  tall: number;
  /** Whether the foot is on the screen. */
  shown: boolean;
  /** Since when it is on the screen as it is, by performance.now(); Infinity while it is not. */
  since: number;
}

/** Arms the buttons of a foot. id is that of the request: another one arms anew. */
export function useArm(foot: RefObject<HTMLElement | null>, id = ""): Arm {
  const anchor = useRef<Anchor>({ x: NaN, y: NaN, tall: NaN, shown: false, since: Infinity });
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const frame = useRef(0);
  const [armed, setArmed] = useState(false);

  const anew = useCallback(() => {
    const p = anchor.current;
    p.since = Infinity;
    setArmed(false);
    clearTimeout(timer.current);
    cancelAnimationFrame(frame.current);
    if (!p.shown || pressed.peek()) return; // what ends that begins anew
    // The second frame begins when the first one is painted.
    frame.current = requestAnimationFrame(() => {
      frame.current = requestAnimationFrame(() => {
        p.since = performance.now();
        timer.current = setTimeout(() => setArmed(true), settle);
      });
    });
  }, []);

  const measure = useCallback(() => {
    if (!foot.current) return;
    // In the page's coordinates: scrolling is the person's own doing. The foot of a card sticks
    // to the screen's edge; where it belongs is the card's end.
    const card = foot.current.closest<HTMLElement>("[data-ui=card]");
    const box = (card ?? foot.current).getBoundingClientRect();
    let x = box.left;
    let y = card ? box.bottom : box.top;
    for (let e = foot.current.parentElement; e; e = e.parentElement) {
      x += e.scrollLeft;
      y += e.scrollTop;
    }
    // A phone's keyboard lies over the buttons, and is gone in no time: when the request goes away
    // that somebody writes an answer to, the next letter would be a tap on another.
    const tall = visualViewport?.height ?? 0;
    const p = anchor.current;
    if (Math.abs(x - p.x) <= 1 && Math.abs(y - p.y) <= 1 && Math.abs(tall - p.tall) <= 1) return;
    Object.assign(p, { x, y, tall });
    anew();
  }, [foot, anew]);

  useLayoutEffect(measure);
  useLayoutEffect(anew, [id, anew]);
  const element = useRef<HTMLElement | null>(null);
  const appears = useRef<IntersectionObserver>(undefined);
  useLayoutEffect(() => {
    if (element.current === foot.current) return; // the same one as before
    element.current = foot.current;
    appears.current?.disconnect();
    appears.current = new IntersectionObserver(
      (entries) => {
        const shown = entries[entries.length - 1]!.intersectionRatio >= most;
        if (shown === anchor.current.shown) return;
        anchor.current.shown = shown;
        anew();
      },
      { threshold: [most] },
    );
    if (foot.current) appears.current.observe(foot.current);
  });
  useEffect(() => () => appears.current?.disconnect(), []);
  useEffect(() => {
    const moves = new ResizeObserver(measure);
    moves.observe(document.body);
    // A press that began too early does nothing when it ends: the time runs from its end.
    const presses = effect(() => {
      void pressed.value;
      if (!(performance.now() - anchor.current.since >= settle)) anew();
    });
    const back = () => document.hidden || anew(); // it comes up again
    visualViewport?.addEventListener("resize", measure);
    document.addEventListener("visibilitychange", back);
    return () => {
      moves.disconnect();
      presses();
      visualViewport?.removeEventListener("resize", measure);
      document.removeEventListener("visibilitychange", back);
      clearTimeout(timer.current);
      cancelAnimationFrame(frame.current);
    };
  }, [foot, measure, anew]);

  const ready = useCallback(() => {
    measure();
    return performance.now() - anchor.current.since >= settle;
  }, [measure]);
  return { armed, ready };
}

/** How often the page has come up again, from a screen that slept or from behind another: what was about
 * to be tapped then may be forgotten. */
export function useWaking(): number {
  const [times, setTimes] = useState(0);
  useEffect(() => {
    const back = () => document.hidden || setTimes((n) => n + 1);
    document.addEventListener("visibilitychange", back);
    return () => document.removeEventListener("visibilitychange", back);
  }, []);
  return times;
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
