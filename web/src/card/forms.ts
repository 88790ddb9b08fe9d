// The script for the forms of MCP servers, which is fetched when the first one comes.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

type Forms = typeof import("./formview");

const forms = signal<Forms | undefined>(undefined);
const failed = signal(false);

function fetchForms(): void {
  failed.value = false;
  import("./formview").then(
    (m) => (forms.value = m),
    () => (failed.value = true),
  );
}

/** The script, or undefined while it is not here, wanted or not. */
export function useForms(wanted: boolean): { forms: Forms | undefined; failed: boolean } {
  useEffect(() => {
    if (wanted && !forms.peek()) fetchForms();
  }, [wanted]);
  return { forms: wanted ? forms.value : undefined, failed: wanted && failed.value };
}
