// How somebody gets to the page beside the front door: by a notification or a link to a request,
// and by the icon of the installed page, which the service worker serves when the broker is away.
import { effect } from "@preact/signals";
import { focusOn } from "../panels/keys";
import { show as showRequest } from "../queue/current";
import { arrivalTrouble, bringUp, known, selected, standing } from "../queue/state";
import { writeTo } from "../story/messages";
import { go } from "../view";
import { keepSubscribed, onTap, serviceWorker, takeWantedInAddress, type Wanted } from "./push";

export function arrive(): void {
  let wanted: Wanted | undefined = takeWantedInAddress();
  onTap((to) => void show(to));
  let once = false;
  effect(() => {
    if (standing.value !== "in" || !known.value) return;
    if (wanted) void show(wanted);
    wanted = undefined;
    if (once) return;
    once = true;
    if (isSecureContext && "serviceWorker" in navigator) {
      serviceWorker().catch(() => undefined); // a private window may have none
      keepSubscribed().catch(() => undefined); // the settings say what is wrong
    }
  });
}

/** Brings before the reader what they came for, wherever it stands. */
async function show({ requestId: id, reply }: Wanted): Promise<void> {
  if (reply && !id) {
    selected.value = reply;
    go("sessions");
    writeTo(reply);
    return;
  }
  if (!id) return;
  const wrong = await bringUp(id);
  if (wrong) {
    arrivalTrouble.value = wrong;
    return;
  }
  showRequest(id);
  requestAnimationFrame(() => {
    const there = document.querySelector<HTMLElement>(`[data-request="${CSS.escape(id)}"]`);
    if (there) focusOn(there);
  });
}
