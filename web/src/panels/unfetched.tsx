import { words } from "../text/words";

/** A part of the page could not be fetched. */
export function Unfetched() {
  return (
    <p class="notice" role="alert">
      {words.later.failed}{" "}
      <button type="button" class="link" onClick={() => location.reload()}>
        {words.later.reload}
      </button>
    </p>
  );
}
