// What opens in the place of a button, or beside it: Escape closes it, and the focus goes back to what opened it.
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";

/** opener selects that button, within what the panel was in: the nearest of those that within selects, or the panel's parent. */
export function useClosing(panel: RefObject<HTMLElement | null>, close: () => void, opener = "button:not(:disabled)", within?: string): void {
  const now = useRef(close);
  now.current = close;
  useEffect(() => {
    const here = panel.current;
    const around = (within && here?.closest<HTMLElement>(within)) || here?.parentElement;
    const escape = (e: KeyboardEvent) => {
      if (e.key !== "Escape" || e.isComposing || e.defaultPrevented) return;
      e.preventDefault();
      now.current();
    };
    here?.addEventListener("keydown", escape);
    return () => {
      here?.removeEventListener("keydown", escape);
      requestAnimationFrame(() => {
        if (document.activeElement !== document.body) return; // on what was chosen
        around?.querySelector<HTMLElement>(opener)?.focus({ preventScroll: true });
      });
    };
  }, []);
}
