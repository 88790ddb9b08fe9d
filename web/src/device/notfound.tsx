import { Rich } from "../text/rich";
import { words } from "../text/words";

/** For those who built assent and did not put it on their PATH. */
export function NotFound() {
  return (
    <p class="quiet">
      <Rich text={words.empty.notFound} />
    </p>
  );
}
