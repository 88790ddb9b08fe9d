// "You": this browser and what its owner prefers.
import { words } from "../text/words/all";
import { section, sections } from "../view";
import { Devices } from "./devices";
import { StopAndPause } from "./halt";
import { Keyboard } from "./keyboard";
import { Notifications } from "./notifications";
import { prefer, preferences } from "./preferences";
import { Switch } from "./switch";

export function Settings() {
  const some = sections.filter((s) => s !== "keyboard" || hasKeyboard() || section.value === s);
  const shown = some.includes(section.value) ? section.value : "devices";
  return (
    <section class="panel settings" data-ui="settings" aria-labelledby="you">
      <h2 id="you">{words.views.you}</h2>
      <nav class="tabs" data-ui="sections" aria-label={words.views.you}>
        {some.map((s) => (
          <button type="button" key={s} aria-current={shown === s ? "page" : undefined} onClick={() => (section.value = s)}>
            {words.settings.sections[s]}
          </button>
        ))}
      </nav>
      <h3 class="unseen">{words.settings.sections[shown]}</h3>
      {shown === "devices" && <Devices />}
      {shown === "notifications" && <Notifications />}
      {shown === "answering" && <Answering />}
      {shown === "keyboard" && <Keyboard />}
      {shown === "stop" && <StopAndPause />}
    </section>
  );
}

/** Whether there may be a keyboard: not where all that points is a finger. */
function hasKeyboard(): boolean {
  return !matchMedia("(pointer: coarse) and (any-hover: none)").matches;
}

function Answering() {
  return <Switch on={preferences.value.undo} set={(undo) => prefer({ undo })} label={words.settings.undo} why={words.settings.undoWhy} />;
}
