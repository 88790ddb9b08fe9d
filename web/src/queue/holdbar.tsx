// Answers that can still be taken back. What sticks to the screen's lower edge makes room for the
// bar: it lies over no button.
import { useLayoutEffect, useRef } from "preact/hooks";
import { words } from "../text/words";
import { held, takeBack } from "./hold";

export function HoldBar() {
  const bar = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => document.documentElement.style.setProperty("--holds", `${bar.current?.offsetHeight}px`), [held.value]);
  return (
    <div class="holds" role="status" ref={bar}>
      {held.value.map((h) => (
        <div class="hold" data-ui="hold" key={h.id}>
          <p>
            {h.what} <small>{h.over ? words.hold.over : words.hold.soon}</small>
          </p>
          <button type="button" aria-disabled={h.over} onClick={() => takeBack(h.id)}>
            {words.hold.undo}
          </button>
        </div>
      ))}
    </div>
  );
}
