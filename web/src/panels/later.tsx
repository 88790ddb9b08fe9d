// Parts whose script comes when they are first wanted.
import { signal } from "@preact/signals";
import { createElement, type FunctionComponent } from "preact";
import { useEffect } from "preact/hooks";
import { words } from "../text/words";
import { Unfetched } from "./unfetched";

type Module = typeof import("./panels");
type Panels = Omit<Module, "keepWay" | "startFeed" | "verify">;

const panels = signal<Panels | undefined>(undefined);
const failed = signal(false);

function fetchPanels(): void {
  failed.value = false;
  Promise.all([import("./panels"), styles()]).then(
    ([m]) => {
      m.startFeed();
      m.keepWay();
      panels.value = m;
    },
    () => (failed.value = true),
  );
}

/** Fetches what the parts look like. */
function styles(): Promise<unknown> {
  return new Promise((onload, onerror) => document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href: "/later.css", onload, onerror })));
}

interface Props<N extends keyof Panels> {
  part: N;
  with: Parameters<Panels[N]>[0];
}

/** One of the parts, or what is said while it is not here. */
export function Later<N extends keyof Panels>({ part, with: props }: Props<N>) {
  useEffect(() => {
    if (!panels.peek()) fetchPanels();
  }, []);
  const Part = panels.value?.[part] as FunctionComponent<Parameters<Panels[N]>[0]> | undefined;
  if (Part) return createElement(Part as FunctionComponent<object>, (props ?? {}) as object);
  if (!failed.value) return <p class="quiet">{words.oneMoment}</p>;
  return <Unfetched />;
}
