// What has just been settled, or can still be taken back. It is as far from the buttons that answer the
// next request as the screen allows: at its top on a phone, below the list on a wide one.
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { clockSkew, now } from "../broker/clock";
import { Ticked } from "../text/rich";
import { words } from "../text/words";
import { go } from "../view";
import { current, show, toast } from "./current";
import { held } from "./hold";
import { HoldBar } from "./holdbar";
import { toastLine } from "./model";
import { bringUp, items, recent } from "./state";

export function Toasts() {
  const some = held.value.length > 0 || toast.value !== "";
  useLayoutEffect(() => {
    if (some) return () => setTimeout(() => dispatchEvent(new Event("resize"))); // what was behind it is on the screen now; see seen.ts
  }, [some]);
  return (
    <div class="toasts" role="status" data-covers={some ? "" : undefined}>
      {held.value.length > 0 ? <HoldBar /> : <Toast id={toast.value} />}
    </div>
  );
}

function Toast({ id }: { id: string }) {
  const [armed, arm] = useState(""); // not for a finger under which it came
  useEffect(() => {
    const timer = setTimeout(() => arm(id), 500);
    return () => clearTimeout(timer);
  }, [id]);
  const item = items.value.get(id) ?? recent.value.find((i) => i.request.id === id);
  const line = item && toastLine(item, now.value - clockSkew, id === current.value);
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
