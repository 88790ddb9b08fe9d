// Answers that can still be taken back.
import { words } from "../text/words";
import { held, takeBack } from "./hold";

export function HoldBar() {
  return held.value.map((h) => (
    <div class="toast" data-ui="hold" key={h.id}>
      <p>
        <span>{h.what}</span> <small>{h.over ? words.hold.over : words.hold.soon}</small>
      </p>
      <button type="button" aria-disabled={h.over} onClick={() => takeBack(h.id)}>
        {words.hold.undo}
      </button>
    </div>
  ));
}
