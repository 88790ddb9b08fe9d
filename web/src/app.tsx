// The page: its parts, a rail of sessions beside them, and what happened.
import { effect } from "@preact/signals";
import { Door } from "./device/door";
import { Later } from "./panels/later";
import { Arrival, BrokenRules, Overruled } from "./queue/alarms";
import { HoldBar } from "./queue/holdbar";
import { Queue } from "./queue/inbox";
import { announcement, groups, link, linkTrouble, recent, selected, standing, waiting } from "./queue/state";
import { Search, Story } from "./story/feedview";
import { Past } from "./story/past";
import { Rail } from "./story/rail";
import { visibleLine } from "./text/visible";
import { words } from "./text/words";
import { settings, view, views } from "./view";

effect(() => {
  document.title = words.waitingTitle(waiting.value);
});

export function App() {
  const inside = standing.value === "in";
  return (
    <>
      <header class="top">
        <h1>{words.title}</h1>
        {inside && (
          <>
            <Connection />
            <Tabs />
            <button type="button" class="small" data-action="settings" aria-haspopup="dialog" onClick={() => (settings.value = "devices")}>
              {words.views.settings}
            </button>
          </>
        )}
      </header>
      <div class="unseen" data-ui="unseen" role="log" aria-live="polite">
        {announcement.value}
      </div>
      {inside ? <Desk /> : <Door />}
      {inside && <HoldBar />}
      {inside && settings.value && <Later part="Settings" with={undefined} />}
    </>
  );
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

function Tabs() {
  return (
    <nav class="tabs" data-ui="views" aria-label={words.views.label}>
      {views.map((v) => (
        <button type="button" key={v} aria-current={view.value === v ? "page" : undefined} onClick={() => (view.value = v)}>
          {words.views[v]}
          {v === "inbox" && waiting.value > 0 && view.value !== "inbox" && <span class="count"> {waiting.value}</span>}
        </button>
      ))}
    </nav>
  );
}

function Desk() {
  const all = groups.value;
  const v = view.value;
  const beside = v === "inbox" || v === "history"; // charts and rules are about all sessions
  const story = v === "inbox" || (v === "history" && selected.value !== "");
  const calm = v === "inbox" && selected.value !== "" && all.every((g) => g.sessionId !== selected.value);
  return (
    <div class={`desk ${!beside ? "whole" : calm ? "reading calm" : selected.value ? "reading" : story ? "" : "listing"}`}>
      {beside && <Rail all={all} />}
      <main tabIndex={-1}>
        <BrokenRules />
        <Arrival />
        <Overruled />
        {v === "inbox" && <Queue groups={selected.value ? all.filter((g) => g.sessionId === selected.value) : all} />}
        {v === "history" && <Later part="Decisions" with={undefined} />}
        {v === "charts" && <Later part="Charts" with={undefined} />}
        {v === "rules" && <Later part="RuleBook" with={undefined} />}
      </main>
      {story && (
        <aside class="feed" data-ui="feed" aria-label={selected.value ? words.desk.whatHappened : words.desk.settledLately}>
          <Search />
          {selected.value ? <Story /> : <Settled />}
        </aside>
      )}
    </div>
  );
}

function Settled() {
  return (
    <>
      <h2>{words.desk.settledLately}</h2>
      {recent.value.length === 0 ? (
        <p class="quiet">
          {words.desk.nothingSettled}{" "}
          <button type="button" class="link" onClick={() => (view.value = "history")}>
            {words.desk.settledBefore}
          </button>
        </p>
      ) : (
        <ul>
          {recent.value.map((i) => (
            <Past key={i.request.id} item={i} />
          ))}
        </ul>
      )}
    </>
  );
}
