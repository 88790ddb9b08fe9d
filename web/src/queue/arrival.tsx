import { words } from "../text/words";
import { arrivalTrouble } from "./state";

/** Why what a link or a notification led to is not here, or what became of a pairing link in a browser that was paired before. */
export function Arrival() {
  if (!arrivalTrouble.value) return null;
  return (
    <p class="notice" role="alert">
      {arrivalTrouble.value}{" "}
      <button type="button" class="link" onClick={() => (arrivalTrouble.value = "")}>
        {words.desk.seen}
      </button>
    </p>
  );
}
