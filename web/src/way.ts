// The browser's Back, and a reload: each entry of its history keeps which part of the page was shown, and which session.
import { batch, effect } from "@preact/signals";
import { selected } from "./queue/state";
import { view, type View } from "./view";

interface At {
  view: View;
  session: string;
}

/** Follows what is shown with the browser's history, and the other way round. */
export function keepWay(): void {
  const shows = ({ view: v, session }: At) =>
    batch(() => {
      view.value = v;
      selected.value = session;
    });
  if ((history.state as At | null)?.view) shows(history.state as At);
  addEventListener("popstate", (e) => shows((e.state as At | null) ?? { view: "inbox", session: "" }));
  const at = (): At => ({ view: view.value, session: view.value === "sessions" ? selected.value : "" });
  effect(() => {
    at();
    queueMicrotask(() => { // what changes together is one step
      const is = at();
      const was = history.state as At | null;
      if (!was?.view) history.replaceState(is, "");
      else if (was.view !== is.view || was.session !== is.session) history.pushState(is, "");
    });
  });
}
