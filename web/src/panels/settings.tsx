// The settings: the one sheet that lies over the page.
import { useLayoutEffect, useRef } from "preact/hooks";
import { waiting } from "../queue/state";
import { words } from "../text/words";
import { sections, settings } from "../view";
import { Devices } from "./devices";
import { Keyboard } from "./keyboard";
import { Notifications } from "./notifications";
import { prefer, preferences } from "./preferences";
import { Switch } from "./switch";

export function Settings() {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    dialog.current?.showModal();
    return () => void (settings.value = undefined); // also when this browser was revoked
  }, []);
  const close = () => dialog.current?.close();
  const section = settings.value;
  return (
    <dialog class="devices settings" data-ui="settings" ref={dialog} aria-labelledby="settings" onClose={() => (settings.value = undefined)}>
      <div class="top">
        <h2 id="settings">{words.settings.head}</h2>
        <button type="button" class="small" data-action="close" onClick={close}>
          {words.close}
        </button>
      </div>
      {waiting.value > 0 && (
        <button type="button" class="more" data-action="waiting" onClick={close}>
          {words.devices.requestsWait(waiting.value)}
        </button>
      )}
      <nav class="tabs" data-ui="sections" aria-label={words.settings.head}>
        {sections.map((s) => (
          <button type="button" key={s} aria-current={section === s ? "page" : undefined} onClick={() => (settings.value = s)}>
            {words.settings.sections[s]}
          </button>
        ))}
      </nav>
      <h3 class="unseen">{section && words.settings.sections[section]}</h3>
      {section === "devices" && <Devices />}
      {section === "notifications" && <Notifications />}
      {section === "answering" && <Answering />}
      {section === "keyboard" && <Keyboard />}
    </dialog>
  );
}

function Answering() {
  return <Switch on={preferences.value.undo} set={(undo) => prefer({ undo })} label={words.settings.undo} why={words.settings.undoWhy} />;
}
