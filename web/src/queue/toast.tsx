// One line about what has just been settled, or what can still be taken back. It is above what
// answers the next request, never on it.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { clockSkew, now } from "../broker/clock";
import { Ticked } from "../text/rich";
import { words } from "../text/words";
import { go } from "../view";
import { show, toast } from "./current";
import { held } from "./hold";
import { HoldBar } from "./holdbar";
import { toastLine } from "./model";
import { bringUp, items, recent } from "./state";

export function Toasts() {
  const box = useRef<HTMLDivElement>(null);
  const wide = isWide();
  const some = held.value.length > 0 || toast.value !== "";
  useLayoutEffect(() => {
    const { current: b } = box;
    if (!b || !some) return;
    let frame = requestAnimationFrame(function again() {
      place(b);
      frame = requestAnimationFrame(again);
    });
    place(b);
    return () => {
      cancelAnimationFrame(frame);
      setTimeout(() => dispatchEvent(new Event("resize"))); // what was behind it is on the screen now; see seen.ts
    };
  }, [some]);
  return (
    <div class="toasts" role="status" ref={box} data-covers={some && !wide ? "" : undefined}>
      {held.value.length > 0 ? <HoldBar /> : <Toast id={toast.value} />}
    </div>
  );
}

/** Above what sticks to the screen's lower edge: how far from the navigation, which the styles know.
 * On a wide screen it is beside the card. */
function place(box: HTMLElement): void {
  const top = (selector: string) => document.querySelector(selector)?.getBoundingClientRect().top ?? innerHeight;
  const views = document.querySelector(".views");
  const edge = views && !isWide() && getComputedStyle(views).position === "fixed" ? top(".views") : innerHeight;
  const floor = Math.min(edge, top(".together"), isWide() ? edge : top(".detail .foot"));
  box.style.setProperty("--above", `${Math.round(edge - Math.max(floor, innerHeight / 4))}px`);
}

function isWide(): boolean {
  return matchMedia("(min-width: 62.5em)").matches;
}

function Toast({ id }: { id: string }) {
  const [armed, arm] = useState(""); // not for a finger under which it came
  useEffect(() => {
    const timer = setTimeout(() => arm(id), 500);
    return () => clearTimeout(timer);
  }, [id]);
  const item = items.value.get(id) ?? recent.value.find((i) => i.request.id === id);
  const line = item && toastLine(item, now.value - clockSkew);
  if (!line) return null;
  const look = () => {
    if (armed !== id) return;
    toast.value = "";
    go("inbox");
    void bringUp(id).then(() => show(id));
  };
  return (
    <div class="toast" data-ui="toast" data-state={line.tone} data-request={id}>
      <p class={`outcome ${line.tone}`} data-ui="outcome">
        <span>{line.what}</span> <small><Ticked text={line.rest} /></small>
      </p>
      <button type="button" data-action="look" aria-disabled={armed !== id} onClick={look}>
        {words.toast.look}
      </button>
    </div>
  );
}
