// The reader's place in the transcript, which is a column of its own on a wide screen.
import { useLayoutEffect, useRef, useState } from "preact/hooks";

const nearEnd = 40; // px from the end that still count as being there

/** The box that scrolls the list: its column on a wide screen; on a phone the page, which
 * is left alone. */
function boxOf(list: HTMLElement | null): HTMLElement | undefined {
  const box = list?.closest<HTMLElement>(".feed") ?? undefined;
  return box && box.scrollHeight > box.clientHeight && getComputedStyle(box).overflowY !== "visible" ? box : undefined;
}

export function toEnd(list: HTMLElement | null): void {
  const box = boxOf(list);
  if (box) box.scrollTop = box.scrollHeight;
  else list?.lastElementChild?.scrollIntoView({ block: "end" });
}

/** Keeps the reader's place: at the end if that is where they are, and at the same line when
 * older ones come before it. True when there is more below. */
export function useFollow(list: { current: HTMLOListElement | null }, first: number | undefined, count: number, session: string | undefined): boolean {
  const scroll = useRef({ atEnd: true, height: 0, first, session });
  const [behind, setBehind] = useState(false);
  useLayoutEffect(() => {
    const column = list.current?.closest<HTMLElement>(".feed");
    if (!column) return;
    const look = () => {
      const box = boxOf(list.current);
      scroll.current.atEnd = !box || box.scrollHeight - box.scrollTop - box.clientHeight <= nearEnd;
      setBehind(!scroll.current.atEnd);
    };
    column.addEventListener("scroll", look, { passive: true });
    return () => column.removeEventListener("scroll", look);
  }, []);
  useLayoutEffect(() => {
    const p = scroll.current;
    const box = boxOf(list.current);
    if (box && p.session !== session) p.atEnd = true;
    if (box && p.atEnd) box.scrollTop = box.scrollHeight;
    else if (box && first !== undefined && p.first !== undefined && first < p.first) box.scrollTop += box.scrollHeight - p.height;
    else if (box && count > 0 && box.scrollHeight - box.scrollTop - box.clientHeight > nearEnd) setBehind(true);
    scroll.current = { ...p, height: box?.scrollHeight ?? 0, first, session };
  }, [first, count, session]);
  return behind;
}
