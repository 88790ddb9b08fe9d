// The list of keys, and the way to change them or switch them off.
import { words } from "../text/words/all";
import { defaultKeys, actions, rebind } from "./keymap";
import { prefer, preferences } from "./preferences";
import { Switch } from "./switch";

export function Keyboard() {
  const { keys, keymap } = preferences.value;
  return (
    <>
      <Switch on={keys} set={(on) => prefer({ keys: on })} label={words.settings.keys} why={words.settings.keysWhy} />
      <ul class="keys">
        {actions.map((a) => (
          <li key={a}>
            <label>
              <span>{words.settings.actions[a]}</span>
              <input
                type="text"
                class="key"
                aria-label={words.settings.keyOf(words.settings.actions[a] ?? a)}
                disabled={!keys}
                autocomplete="off"
                autocapitalize="off"
                spellcheck={false}
                value={keymap[a]}
                placeholder={words.settings.noKey}
                onFocus={(e) => e.currentTarget.select()}
                onInput={(e) => {
                  const key = [...e.currentTarget.value.trim()].pop() ?? "";
                  prefer({ keymap: rebind(keymap, a, key.length === 1 ? key : "") });
                  e.currentTarget.value = preferences.value.keymap[a];
                  e.currentTarget.select();
                }}
              />
            </label>
          </li>
        ))}
      </ul>
      <button type="button" class="small" disabled={!keys} onClick={() => prefer({ keymap: defaultKeys })}>
        {words.settings.defaults}
      </button>
    </>
  );
}
