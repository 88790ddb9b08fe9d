// The page: the way between its parts, what must not be missed, and the part that is shown.
import { effect } from "@preact/signals";
import { Outside } from "./device/outside";
import { Later } from "./panels/later";
import { Arrival } from "./queue/arrival";
import { current, listing, position } from "./queue/current";
import { Inbox } from "./queue/inbox";
import { announcement, halt, link, linkTrouble, overruled, recordAlarm, ruleTrouble, selected, standing, waiting } from "./queue/state";
import { Toasts } from "./queue/toast";
import { visibleLine } from "./text/visible";
import { words } from "./text/words";
import { go, section, view, views } from "./view";

effect(() => {
  document.title = words.waitingTitle(waiting.value);
  navigator.setAppBadge?.(waiting.value).catch(() => undefined); // only an installed page has one
});

export function App() {
  const inside = standing.value === "in";
  return (
    <>
      <header class="top">
        {inside && (
          <button type="button" class="skip" data-action="skip" onClick={skip}>
            {view.value === "inbox" && current.value ? words.views.skipToRequest : words.views.skip}
          </button>
        )}
        <h1>{words.title}</h1>
        {inside && (
          <>
            {view.value === "inbox" && <Place />}
            <Connection />
            <Views />
          </>
        )}
      </header>
      <div class="unseen" data-ui="unseen" role="log" aria-live="polite">
        {announcement.value}
      </div>
      {inside ? <Desk /> : <Outside />}
      {inside && <Toasts />}
    </>
  );
}

/** Over the way to the other parts and the list, which may be long, for who goes by Tab. */
function skip(): void {
  const target = document.querySelector<HTMLElement>(".detail .card") ?? document.querySelector("main");
  target?.focus();
}

function Connection() {
  const l = link.value;
  return (
    <span class={`link-state ${l}`} data-ui="link" data-state={l} role="status">
      {words.link[l]}
      {linkTrouble.value && `: ${visibleLine(linkTrouble.value)}`}
    </span>
  );
}

/** On a narrow screen: which of the requests that wait is shown, and the way to all of them. */
function Place() {
  const count = waiting.value;
  const list = listing.value;
  return (
    <div class="place" data-ui="place">
      <h2>{words.views.inbox}</h2>
      {count > 0 && current.value !== "" && (count > 1 || list) && (
        <span>
          {list || position.value === 0 ? words.desk.waiting(count) : words.list.at(position.value, count)} ·{" "}
          <button type="button" class="link" data-action="all" onClick={() => (listing.value = !list)}>
            {list ? words.list.one : words.list.all}
          </button>
        </span>
      )}
    </div>
  );
}

function Views() {
  const shown = view.value === "charts" ? "history" : view.value;
  return (
    <nav class="views" data-ui="views" aria-label={words.views.label}>
      {views.map((v) => (
        <button
          type="button"
          key={v}
          data-action={v === "you" ? "settings" : undefined}
          aria-current={shown === v ? "page" : undefined}
          onClick={() => {
            selected.value = "";
            go(v);
          }}
        >
          {words.views[v]}
          {v === "inbox" && waiting.value > 0 && <span class="count"> {waiting.value}</span>}
        </button>
      ))}
    </nav>
  );
}

function Desk() {
  const v = view.value;
  return (
    <main tabIndex={-1} class={`desk part-${v}`} data-link={link.value}>
      {(halt.value?.stopped || halt.value?.paused) && !(v === "you" && section.value === "stop") && <Later part="Halted" with={undefined} />}
      {(recordAlarm.value || ruleTrouble.value || overruled.value.length > 0) && <Later part="Alarms" with={undefined} />}
      <Arrival />
      {v === "inbox" && <Inbox />}
      {v === "sessions" && <Later part="Sessions" with={undefined} />}
      {(v === "history" || v === "charts") && <HistoryParts />}
      {v === "history" && <Later part="Decisions" with={undefined} />}
      {v === "charts" && <Later part="Charts" with={undefined} />}
      {v === "rules" && <Later part="RuleBook" with={undefined} />}
      {v === "you" && <Later part="Settings" with={undefined} />}
    </main>
  );
}

function HistoryParts() {
  return (
    <nav class="tabs" data-ui="parts" aria-label={words.views.history}>
      {(["history", "charts"] as const).map((v) => (
        <button type="button" key={v} data-action={v} aria-current={view.value === v ? "page" : undefined} onClick={() => go(v)}>
          {v === "history" ? words.views.decisions : words.views.charts}
        </button>
      ))}
    </nav>
  );
}
