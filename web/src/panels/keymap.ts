// Which letter does what, as plain functions.

export const actions = ["next", "previous", "allow", "deny", "edit", "reply", "terminal", "choose", "waiting", "search", "help"] as const;
export type Action = (typeof actions)[number];

export const defaultKeys: Readonly<Record<Action, string>> = {
  next: "j",
  previous: "k",
  allow: "a",
  deny: "d",
  edit: "e",
  reply: "m",
  terminal: "t",
  choose: "x",
  waiting: "w",
  search: "/",
  help: "?",
};

/** What a key does; undefined for none. */
export function actionOf(keymap: Readonly<Record<Action, string>>, key: string): Action | undefined {
  return key.length === 1 ? actions.find((a) => keymap[a] === key) : undefined;
}

/** Gives a key to an action. What had it before has none then: no key does two things. */
export function rebind(keymap: Readonly<Record<Action, string>>, action: Action, key: string): Record<Action, string> {
  const next = { ...keymap };
  for (const a of actions) if (a !== action && next[a] === key) next[a] = "";
  next[action] = key;
  return next;
}
