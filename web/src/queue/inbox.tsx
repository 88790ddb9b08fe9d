// What waits: a list, and beside it the one request that is before the reader. On a narrow screen
// one of the two.
import { useLayoutEffect, useRef } from "preact/hooks";
import { Card } from "../card/card";
import { NotFound } from "../device/notfound";
import { verificationNow } from "../device/session";
import { Later } from "../panels/later";
import { prefer, preferences, type Order } from "../panels/preferences";
import { Past } from "../story/past";
import { listed, stateDot, stateWords } from "../story/story";
import { Rich } from "../text/rich";
import { visibleLine } from "../text/visible";
import { words } from "../text/words";
import { dangerous } from "./friction";
import { go } from "../view";
import { current, entries, leaveOver, listing } from "./current";
import { List } from "./list";
import { sessionName, waits, type Entry, type Item } from "./model";
import { items, known, recent, recentKnown, selected, sessions, together } from "./state";

const mostRecent = 10;
const mostAtWork = 8;

export function Inbox() {
  const all = entries.value;
  if (!known.value) return <p class="quiet">{words.desk.asking}</p>;
  if (preferences.value.many && items.value.size > 0) {
    return (
      <div class="queue" data-ui="queue">
        <Tools />
        <Later part="Many" with={{ items: [...items.value.values()] }} />
      </div>
    );
  }
  return <One all={all} />;
}

function One({ all }: { all: readonly Entry[] }) {
  const item = items.value.get(current.value);
  useNext(item?.request.id ?? "");
  const list = (
    <div class="list" key="list" data-ui="list">
      {all.length > 0 && (
        <>
          <div class="list-head">
            <h2>{words.desk.waiting(all.reduce((n, e) => n + e.items.length, 0))}</h2>
            {(all.length > 1 || preferences.value.many) && <Tools />}
          </div>
          <List entries={all} />
        </>
      )}
      <Recent />
    </div>
  );
  const detail = (
    <div class="detail" key="detail">
      {item ? (
        <>
          {!waits(item) && item.kept && <Settled />}
          <Same entry={all.find((e) => e.items.includes(item))} item={item} />
          <Card key={item.request.id} item={item} />
        </>
      ) : (
        <Empty />
      )}
    </div>
  );
  // Read aloud and gone through with Tab, it comes in the order in which it is seen: where nothing waits that is said first.
  return (
    <div class={`inbox ${!item ? "none" : listing.value ? "listing" : "one"}`} data-ui="queue">
      {item ? [list, detail] : [detail, list]}
    </div>
  );
}

/** Gives the card that comes up the focus that the one before it had. */
function useNext(id: string): void {
  const before = useRef("");
  useLayoutEffect(() => {
    if (before.current && id && document.activeElement?.matches("main, body")) document.querySelector<HTMLElement>(".detail .card")?.focus({ preventScroll: true });
    before.current = id;
  }, [id]);
}

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

/** Above a request that is over, and that somebody came to look at. */
function Settled() {
  return (
    <p class="above" data-ui="settled">
      {words.list.settled}{" "}
      <button type="button" class="small" data-action="next" onClick={leaveOver}>
        {entries.value.length > 0 ? words.list.next : words.list.back}
      </button>
    </p>
  );
}

/** Where identical requests wait: whether they get the same answer. What is dangerous is answered
 * one by one. */
function Same({ entry, item }: { entry: Entry | undefined; item: Item }) {
  const count = entry?.items.length ?? 0;
  if (!entry || count < 2) return null;
  if (dangerous(item.request)) return <p class="above" data-ui="same">{words.list.sameDanger(count)}</p>;
  const all = together.value.length > 0;
  return (
    <label class="above" data-ui="same">
      <input type="checkbox" checked={all} onChange={() => (together.value = all ? [] : entry.items.map((i) => i.request))} />
      {all && together.value.length !== count ? words.list.sameSome(together.value.length, count) : words.list.same(count)}
    </label>
  );
}

function Recent() {
  if (recent.value.length === 0 && entries.value.length > 0) return null;
  return (
    <section class="recent" aria-labelledby="recent">
      <h2 id="recent">{words.desk.recent}</h2>
      {recent.value.length === 0 ? (
        <p class="quiet">{words.desk.noneRecent}</p>
      ) : (
        <ul>
          {recent.value.slice(0, mostRecent).map((i) => (
            <Past key={i.request.id} item={i} />
          ))}
        </ul>
      )}
      <button type="button" class="link" data-action="history" onClick={() => go("history")}>
        {words.desk.viewHistory}
      </button>
    </section>
  );
}

/** Nothing waits. How to begin is told until a first request was answered. */
function Empty() {
  const first = recentKnown.value && recent.value.length === 0;
  return (
    <div class="empty">
      <h2>{words.empty.head}</h2>
      {first && (
        <>
          <p>{words.empty.here}</p>
          <details>
            <summary>{words.empty.nothingComes}</summary>
            <ul>
              {words.empty.ways.map((way, i) => (
                <li key={i}>
                  <Rich text={way} />
                </li>
              ))}
            </ul>
            <NotFound />
          </details>
        </>
      )}
      {offers() && <Later part="VerificationOffer" with={undefined} />}
      <AtWork />
    </div>
  );
}

/** Whether this is a phone that could verify its owner, and was not asked yet. */
function offers(): boolean {
  const { site, credential } = verificationNow();
  return !!site && !credential && preferences.value.verify && matchMedia("(pointer: coarse)").matches;
}

/** The sessions that are at work, each a way to what happens in it. */
function AtWork() {
  const some = listed(sessions.value.values(), mostAtWork);
  if (some.length === 0) return null;
  return (
    <ul class="at-work" data-ui="at-work" aria-label={words.desk.sessions}>
      {some.map((s) => (
        <li key={s.sessionId}>
          <button
            type="button"
            onClick={() => {
              selected.value = s.sessionId;
              go("sessions");
            }}
          >
            <i class={`dot ${stateDot(s)}`} aria-hidden="true" />
            <span>
              <bdi>{s.title || visibleLine(sessionName(s))}</bdi>
              <small>
                {s.title && s.title !== visibleLine(sessionName(s)) && (
                  <>
                    <bdi>{visibleLine(sessionName(s))}</bdi> ·{" "}
                  </>
                )}
                {stateWords(s)}
              </small>
            </span>
          </button>
        </li>
      ))}
    </ul>
  );
}
