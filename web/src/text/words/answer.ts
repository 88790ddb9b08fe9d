// The words of the answers to a request.
import { n } from "./count";

type Scope = { minutes: number } | { count: number } | "rule";

const spanOf = (s: Scope): string => (s === "rule" ? "until revoked" : `for ${answerWords.rule.scope(s)}`);

export const answerWords = {
  answer: {
    allow: "Allow",
    about: (answer: string, what: string) => `${answer}: ${what}`,
    approve: "Approve",
    answer: "Answer",
    deny: "Deny",
    denyNote: "Deny with note",
    allowThat: (action: string) => `Allow ${action}`,
    hold: "Hold to allow",
    holding: "Keep holding…",
    tooShort: "Hold until it is full",
    again: "Press again to allow",
    howToHold: "Hold it for a second, or press it twice with the keyboard.",
    more: "More answers",
    back: "Back",
    modes: { edit: "Edit…", always: "Always…", stop: "Deny and stop…", handback: "Answer at the terminal…" },
    instead: (agent: string) => `Tell ${agent} what to do instead…`,
    allowEdited: "Allow as edited",
    approveEdited: "Approve as edited",
    allowAlways: "Allow from now on",
    saveAllow: "Save and allow",
    denyStop: "Deny and stop",
    stopHint: "Denies it and stops the agent's turn. It waits for you in its terminal, without a message.",
    terminal: "Answer at the terminal",
    editorMode: "Answer in the editor…",
    editor: "Answer in the editor",
    editorHint: "Neither allows nor denies it: the editor's dialog stays.",
    terminalHint: (agent: string) => `Neither allows nor denies it: ${agent} asks at its own prompt.`,
    stopBlocks: "This stops the agent. To allow, go back.",
    nothingEdited: "Nothing is changed yet.",
    notEditable: "This input cannot be edited here without changing the rest of it.",
    chooseAlways: "Choose what to allow from now on.",
    saving: "Saving the rule…",
    notSaved: (why: string) => `The rule was not saved, and nothing was answered: ${why}.`,
    noLink: "No connection to the broker. You can answer when it is back.",
    noteBlocks: "Notes are sent only with Deny. Clear the note to allow.",
    sending: "Sending…",
    held: "Not sent yet.",
    confirm: "Confirm with face, fingerprint or PIN…",
    viewOnly: "This device can see requests, but not answer them.",
    over: "Over.",
    changed: "This is not the request you saw: its input differs. Nothing was sent to the agent; look again.",
    unknown: "It is not known whether your answer was recorded. This card will show it when the record does.",
    notRecorded: (why: string) => `Not recorded: ${why}.`,
    nonsense: "the broker sent an unexpected answer",
  },

  always: {
    rules: (behavior: string, rules: string) => `${behavior === "allow" ? "Allow" : behavior === "deny" ? "Deny" : "Ask about"} ${rules}`,
    wholeTool: (tool: string) => `every use of ${tool}`,
    mode: (mode: string) => (mode === "acceptEdits" ? "Accept every edit of files in the agent's directory" : `Switch the agent to the mode ${mode}`),
    directories: (dirs: string) => `Let the agent work in ${dirs}`,
    tool: (tool: string) => `Allow every use of ${tool}`,
    kept: {
      session: "In this session only; not saved.",
      localSettings: "In this project, for you: .claude/settings.local.json",
      projectSettings: "In this project, for everybody who works in it: .claude/settings.json",
      userSettings: "In all your projects: ~/.claude/settings.json",
      kilo: "In all your projects: ~/.config/kilo/kilo.json",
      cliArg: "As long as this agent runs.",
      "": "Kept by the agent.",
    } as Readonly<Record<string, string>>,
  },

  rule: {
    holds: (s: Scope) => `Will be saved ${spanOf(s)}.`,
    saved: (s: Scope) => `Saved ${spanOf(s)}, under Rules:`,
    scope: (s: Scope) =>
      s === "rule" ? "Until revoked" : "count" in s ? n(s.count, "Once", "# times") : s.minutes < 60 ? `${s.minutes} minutes` : n(s.minutes / 60, "1 hour", "# hours"),
  },
};
