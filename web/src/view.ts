// Which part of the page is shown.
import { signal } from "@preact/signals";

/** The parts that the navigation leads to. */
export const views = ["inbox", "sessions", "history", "rules", "you"] as const;
/** Charts are a part of the history. */
export type View = (typeof views)[number] | "charts";

/** The one that the browser's history says; see way.ts. */
const kept = (): View => (globalThis.history?.state as { view?: View } | null)?.view ?? "inbox";

export const view = signal(kept());
globalThis.addEventListener?.("popstate", () => (view.value = kept()));

export const sections = ["devices", "notifications", "answering", "keyboard", "stop"] as const;
export type Section = (typeof sections)[number];

/** The section of "You" that is shown. */
export const section = signal<Section>("devices");

/** Goes to a part of the page, and to its top. */
export function go(to: View, part?: Section): void {
  if (part) section.value = part;
  if (view.peek() !== to) scrollTo(0, 0);
  view.value = to;
}
