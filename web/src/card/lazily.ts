// Parts of a card whose script comes when the first one is wanted.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

/** Of a script that load fetches, once: a hook that has it, or undefined while it is not here,
 * wanted or not. */
export function lazily<T>(load: () => Promise<T>): (wanted: boolean) => { script: T | undefined; failed: boolean } {
  const script = signal<T | undefined>(undefined);
  const failed = signal(false);
  const fetchIt = () => {
    failed.value = false;
    load().then(
      (m) => (script.value = m),
      () => (failed.value = true),
    );
  };
  return (wanted) => {
    useEffect(() => {
      if (wanted && !script.peek()) fetchIt();
    }, [wanted]);
    return { script: wanted ? script.value : undefined, failed: wanted && failed.value };
  };
}
