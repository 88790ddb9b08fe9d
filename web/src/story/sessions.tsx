// The sessions, and what happened in the one that is chosen. On a narrow screen one of the two.
import { starting } from "../agents/agents";
import { StartAgent } from "../agents/start";
import { saysOf } from "../queue/model";
import { show } from "../queue/current";
import { groups, selected, sessions } from "../queue/state";
import { words } from "../text/words/all";
import { go } from "../view";
import { Search, Story } from "./feedview";
import { Rail } from "./rail";

export function Sessions() {
  const chosen = selected.value;
  return (
    <div class={`sessions ${chosen || starting.value ? "reading" : ""}`}>
      <Rail />
      <div class="feed" data-ui="feed" role="region" aria-label={chosen ? words.desk.whatHappened : words.feed.search} tabIndex={0}>
        {(chosen || starting.value) && (
          <button type="button" class="link back" data-action="back" onClick={() => (selected.value = "", starting.value = undefined)}>
            {words.desk.allSessions}
          </button>
        )}
        <Search />
        {chosen ? (
          <>
            <Waiting />
            <Story />
          </>
        ) : starting.value ? (
          <StartAgent />
        ) : (
          (groups.value.length > 0 || sessions.value.size > 0) && <p class="quiet hint">{words.desk.chooseSession}</p>
        )}
      </div>
    </div>
  );
}

/** What waits in the session, a tap away. */
function Waiting() {
  const items = groups.value.find((g) => g.sessionId === selected.value)?.items.filter((i) => !i.endedAt) ?? [];
  const first = items[0];
  if (!first) return null;
  return (
    <button
      type="button"
      class="more"
      data-action="answer"
      onClick={() => {
        go("inbox");
        show(first.request.id);
      }}
    >
      {words.desk.answerHere(saysOf(first), items.length)}
    </button>
  );
}
