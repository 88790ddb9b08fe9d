// What somebody prefers on this browser. Kept in localStorage, which other ports of the host do
// not see; nothing here is a secret, and a browser that keeps nothing has the defaults.
import { effect, signal } from "@preact/signals";
import { defaultKeys, type Action } from "./keymap";

export type Order = "age" | "deadline";

export interface Preferences {
  /** Requests oldest first, or the one that expires next first. */
  order: Order;
  /** Alike requests in one list, to answer several at once. */
  many: boolean;
  /** Wait three seconds before an answer is sent. */
  undo: boolean;
  /** Ask once whether this device shall verify its owner. */
  verify: boolean;
  /** Whether single letters do anything, and which. */
  keys: boolean;
  keymap: Readonly<Record<Action, string>>;
}

const defaults: Preferences = { order: "age", many: false, undo: false, verify: true, keys: true, keymap: defaultKeys };
const storageKey = "assent.preferences";

export const preferences = signal<Preferences>(read());

export function prefer(change: Partial<Preferences>): void {
  preferences.value = { ...preferences.value, ...change };
}

effect(() => {
  const text = JSON.stringify(preferences.value);
  try {
    if (text === JSON.stringify(defaults)) localStorage.removeItem(storageKey);
    else localStorage.setItem(storageKey, text);
  } catch {
    // a browser that keeps nothing
  }
});

/** Takes what is there and of the right kind: another version may have written it. */
function read(): Preferences {
  let kept: Partial<Record<keyof Preferences, unknown>> = {};
  try {
    kept = (JSON.parse(localStorage.getItem(storageKey) ?? "{}") ?? {}) as typeof kept;
  } catch {
    // nothing kept, or not by us
  }
  const yes = (name: "many" | "undo" | "verify" | "keys") => (typeof kept[name] === "boolean" ? (kept[name] as boolean) : defaults[name]);
  const own = (typeof kept.keymap === "object" && kept.keymap ? kept.keymap : {}) as Record<string, unknown>;
  const keymap = Object.fromEntries(
    Object.entries(defaultKeys).map(([action, key]) => [action, typeof own[action] === "string" && (own[action] as string).length <= 1 ? own[action] : key]),
  ) as Record<Action, string>;
  return { order: kept.order === "deadline" ? "deadline" : "age", many: yes("many"), undo: yes("undo"), verify: yes("verify"), keys: yes("keys"), keymap };
}
