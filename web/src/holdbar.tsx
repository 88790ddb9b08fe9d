// Answers that can still be taken back.
import { held, takeBack } from "./hold";
import { words } from "./words";

export function HoldBar() {
  return (
    <div class="holds" role="status">
      {held.value.map((h) => (
        <div class="hold" key={h.id}>
          <p>
            {h.what} <small>{h.over ? words.hold.over : words.hold.soon}</small>
          </p>
          <button type="button" aria-disabled={h.over} onClick={() => takeBack(h.id)}>
            {words.hold.undo}
          </button>
        </div>
      ))}
    </div>
  );
}
