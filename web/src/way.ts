// The browser's Back, and a reload: each entry of its history keeps which part of the page was shown, and which
// session. It comes with the parts beside the inbox: who has seen none of them has nowhere to go back to.
import { batch, effect } from "@preact/signals";
import { selected } from "./queue/state";
import { view, type View } from "./view";

interface At {
  view: View;
  session: string;
}

const first: At = { view: "inbox", session: "" };
const saved = (): At => ({ ...first, ...(history.state as Partial<At> | null) });

/** Follows what is shown with the browser's history, and the other way round. */
export function keepWay(): void {
  const shows = ({ view: v, session }: At) =>
    batch(() => {
      view.value = v;
      if (session || v === "sessions") selected.value = session;
    });
  const at = (): At => ({ view: view.value, session: view.value === "sessions" ? selected.value : "" });
  if (saved().view === view.peek() && !selected.peek()) shows(saved()); // after a reload
  addEventListener("popstate", () => shows(saved()));
  effect(() => {
    at();
    queueMicrotask(() => { // what changes together is one step
      const is = at();
      const was = saved();
      if (was.view !== is.view || was.session !== is.session) history.pushState(is, "");
    });
  });
}
