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
    tooShort: "Hold the button until it is full.",
    again: "Press again to allow",
    howToHold: "Hold it for a second, or press it twice with the keyboard.",
    more: "More answers",
    back: "Back",
    modes: { edit: "Edit…", always: "Always…", stop: "Deny and stop…" },
    agent: (agent: string | undefined) => (agent === undefined || agent === "claude" ? "Claude" : "the agent"),
    instead: (agent: string) => `Tell ${agent} what to do instead…`,
    allowEdited: "Allow as edited",
    approveEdited: "Approve as edited",
    allowAlways: "Allow from now on",
    saveAllow: "Save and allow",
    denyStop: "Deny and stop",
    stopHint: "Denies it and stops the agent's turn. The agent gets no words with it: it waits for you in its terminal.",
    stopBlocks: "This stops the agent. To allow, go back.",
    nothingEdited: "Nothing is changed yet.",
    notEditable: "This input cannot be edited here: the page could not write the rest of it back as it came.",
    chooseAlways: "Choose what to allow from now on.",
    saving: "Saving the rule…",
    notSaved: (why: string) => `The rule was not saved, and nothing was answered: ${why}.`,
    noLink: "No connection to the broker. You can answer when it is back.",
    noteBlocks: "Notes are sent only with Deny. Clear the note to allow.",
    sending: "Sending…",
    held: "Not sent yet.",
    confirm: "Confirm with face, fingerprint or PIN…",
    viewOnly: "This device may look, not decide.",
    over: "Over.",
    changed: "This is not the request you saw: its input differs. Nothing was sent to the agent; look again.",
    unknown: "Whether your answer was recorded is not known. This card will say so when the record does; only then is it in force.",
    notRecorded: (why: string) => `Not recorded: ${why}.`,
    nonsense: "the broker's answer makes no sense",
  },

  always: {
    legend: (agent: string) => `Suggested by ${agent}, which then no longer asks for it`,
    together: "These are suggested together. One alone may not keep it from asking again.",
    rules: (behavior: string, rules: string) => `${behavior === "allow" ? "Allow" : behavior === "deny" ? "Deny" : "Ask about"} ${rules}`,
    wholeTool: (tool: string) => `every use of ${tool}`,
    mode: (mode: string) => (mode === "acceptEdits" ? "Accept every edit of files in the agent's directory" : `Switch the agent to the mode ${mode}`),
    directories: (dirs: string) => `Let the agent work in ${dirs}`,
    tool: (tool: string) => `Allow every use of ${tool}`,
    where: "Where it is kept",
    scopes: { session: "This session", localSettings: "This project, me", projectSettings: "This project, all", userSettings: "All my projects" },
    kept: {
      session: "In this session only; kept nowhere.",
      localSettings: "In this project, for you: .claude/settings.local.json",
      projectSettings: "In this project, for everybody who works in it: .claude/settings.json",
      userSettings: "In all your projects: ~/.claude/settings.json",
      cliArg: "As long as this agent runs.",
      "": "Kept by the agent.",
    } as Readonly<Record<string, string>>,
  },

  rule: {
    legend: "Rules and grants: assent answers by itself from now on",
    asking: "Asking the broker for rules that fit…",
    failed: (why: string) => `No rules could be had: ${why}.`,
    none: (why: string) => `No rule can be made of this request${why && `: ${why.replace(/\.$/, "")}`}.`,
    past: (matched: number, denied: number, looked: number) =>
      looked === 0 ? "No other request is over yet that it could be tried on." : matched === 0 ? `It fits this request, and ${n(looked, "not the only other one that is over", "none of the last # others")}.` : `${n(looked, "Of one other request", "Of the last # other requests")} it would have allowed ${matched}${denied ? `, ${n(denied, "1 of which was", "# of which were")} denied` : ""}.`,
    written: "The rule as it is written",
    howLong: "How long it holds",
    holds: (s: Scope) => `Will be saved ${spanOf(s)}.`,
    saved: (s: Scope) => `Saved ${spanOf(s)}, under Rules:`,
    scope: (s: Scope) =>
      s === "rule" ? "Until revoked" : "count" in s ? n(s.count, "Once", "# times") : s.minutes < 60 ? `${s.minutes} minutes` : n(s.minutes / 60, "1 hour", "# hours"),
  },
};
