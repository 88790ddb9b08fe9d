// Tells the broker, once, which requests were on the screen where they could be answered; the record keeps that.
import { authorized, mayDecide } from "../device/session";

const told = new Set<string>();
let soon: string[] = [];

/** A request is on the screen now, and the page is what its reader looks at. */
export function onScreen(id: string): void {
  if (told.has(id) || !mayDecide()) return;
  if (told.size > 9999) told.clear(); // the broker knows what it has
  told.add(id);
  if (soon.push(id) === 1) setTimeout(tell, 200);
}

function tell(): void {
  const requests = soon.slice(0, 50);
  soon = soon.slice(50);
  if (soon[0]) setTimeout(tell, 1000);
  authorized("POST", "/v1/shown", { requests }).catch(() => requests.forEach((id) => told.delete(id)));
}
