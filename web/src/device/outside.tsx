// What is shown while this browser is not in: nothing at first, then the door, whose script comes when it is wanted.
import { useMore } from "../card/more";
import { Unfetched } from "../panels/unfetched";
import { standing } from "../queue/state";
import { words } from "../text/words";

export function Outside() {
  const starting = standing.value === "starting";
  const { script, failed } = useMore(!starting);
  if (script) return <script.Door />;
  return (
    <main class="door" aria-busy={!failed}>
      {failed ? <Unfetched /> : !starting && <p class="quiet">{words.oneMoment}</p>}
    </main>
  );
}
