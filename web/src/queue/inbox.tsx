// What waits: card by card, or alike requests together.
import { signal } from "@preact/signals";
import { Card } from "../card/card";
import { NotFound } from "../device/door";
import { Later } from "../panels/later";
import { prefer, preferences, type Order } from "../panels/preferences";
import { sessionNames } from "../story/rail";
import { Rich } from "../text/rich";
import { words } from "../text/words";
import type { Group } from "./model";
import { groups, known, selected } from "./state";

const page = 30;

/** How many cards are shown; the rest is a tap away. */
export const limit = signal(page);

export function Queue({ groups: some }: { groups: Group[] }) {
  if (!known.value) return <p class="quiet">{words.desk.asking}</p>;
  if (some.length === 0) return selected.value ? <p class="quiet">{words.desk.nothingHere}</p> : <Empty />;
  return (
    <div class="queue" data-ui="queue">
      <Tools />
      {preferences.value.many ? <Later part="Many" with={{ items: some.flatMap((g) => g.items) }} /> : <Cards groups={some} />}
    </div>
  );
}

/** Stands beside the first heading, so that nothing moves when it comes. */
function Tools() {
  const { order, many } = preferences.value;
  return (
    <div class="tools" data-ui="tools">
      <select aria-label={words.inbox.order} value={order} onChange={(e) => prefer({ order: e.currentTarget.value as Order })}>
        <option value="age">{words.inbox.age}</option>
        <option value="deadline">{words.inbox.deadline}</option>
      </select>
      <button type="button" class="switch" data-action="many" onClick={() => prefer({ many: !many })}>
        {many ? words.inbox.one : words.inbox.many}
      </button>
    </div>
  );
}

function Cards({ groups: some }: { groups: Group[] }) {
  const names = sessionNames(groups.value.map((g) => g.items[0]!.request));
  // What is over and lingers takes no place away from what waits.
  let left = limit.value;
  let over = limit.value;
  const total = some.reduce((n, g) => n + g.waiting, 0);
  return (
    <>
      {some.map((g) => {
        const cards = g.items.filter((i) => (i.endedAt ? over-- > 0 : left-- > 0));
        if (cards.length === 0) return null;
        return (
          <section class="group" data-ui="group" key={g.sessionId} aria-label={names.get(g.sessionId)!}>
            <h2>
              <span class="name">{names.get(g.sessionId)}</span> <span class="count">{words.desk.waiting(g.waiting)}</span>
            </h2>
            {cards.map((i) => (
              <Card key={i.request.id} item={i} />
            ))}
          </section>
        );
      })}
      {total > limit.value && (
        <button type="button" class="more" data-action="more" onClick={() => (limit.value += page)}>
          {words.desk.more(total - limit.value)}
        </button>
      )}
    </>
  );
}

function Empty() {
  return (
    <div class="empty">
      <h2>{words.empty.head}</h2>
      <p>{words.empty.here}</p>
      <p>{words.empty.nothingComes}</p>
      <ul>
        {words.empty.ways.map((way, i) => (
          <li key={i}>
            <Rich text={way} />
          </li>
        ))}
      </ul>
      <NotFound />
    </div>
  );
}
