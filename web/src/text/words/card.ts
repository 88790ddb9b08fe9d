// The words of one request, and of its outcome.
import { n } from "./count";

export const cardWords = {
  card: {
    use: (tool: string) => `Use ${tool}`,
    notHere: "Not all of it is here yet.",
    showFirst: "Show all of it before you allow it.",
    questionsUnknown: "These questions cannot be answered here; answer in the terminal, or deny.",
    answerAll: "Answer every question first.",
    answerFirst: "Choose an answer first.",
    uninspectable:
      "**Look closely.** This request cannot be shown faithfully by its fields: {why}. What the agent makes of it may be something else. The raw text is below.",
    fetching: "Fetching the whole request…",
    notFetched: (why: string) => `The whole request could not be fetched: ${why}. `,
    detached: "The agent is not connected; waiting for it to come back.",
    rawOf: "Raw text of the request",
    atCommit: (sha: string) => `at ${sha}`,
    subagent: (type: string) => `subagent${type && ` ${type}`}`,
    secondsLeft: (seconds: number) => `${seconds} s left`,
    editLines: (lines: number, file: string) => `Edit ${n(lines, "1 line", "# lines")} in ${file}`,
    sample: "sample",
    sampleHint: "A sample request: whatever you answer, nothing runs.",
    server: "MCP server",
    tool: "Tool",
    raw: "Raw request",
    unseen: (parts: number) => n(parts, "One part not seen yet.", "# parts not seen yet."),
    next: "Go there",
  },

  outcome: {
    overruled: "Overruled: it was denied here, and run all the same from the terminal.",
    overruledEdit: "Overruled: it was allowed as edited, and ran as it was asked for.",
    allowed: "Allowed",
    edited: "Allowed as edited",
    denied: "Denied",
    by: (word: string, who: string) => `${word} by ${who}`,
    named: (kind: string, name: string) => `the ${kind} “${name}”`,
    expired: "Expired: nobody answered in time. The agent asks in its own terminal.",
    expiredDenied: "Expired: nobody answered in time, so the agent was told no.",
    handedBack: "Handed back: the agent asks in its own terminal.",
    tooLarge: "Handed back: too large to be shown here. The agent asks in its own terminal.",
    lost: "No longer waiting. It was settled while this page was not connected.",
    ran: "The tool ran.",
    ranFailed: (why: string) => `The tool failed${why && ": "}${why}`,
    toldAgent: "Told the agent:",
    stopped: "The agent was told to stop.",
    changedTo: "Allowed as edited:",
    from: "From now on:",
    deliveredIn: (seconds: string) => `Delivered in ${seconds} s.`,
    delivered: "Delivered.",
    notTaken: "Recorded; the agent has not taken it yet.",
    recorded: "Recorded.",
    withdrawn: {
      tool_ran: "Answered in the terminal: the tool ran.",
      hangup: "Answered in the terminal, or the agent was stopped.",
      turn_ended: "Answered in the terminal: the agent went on.",
      session_over: "The session is over.",
      detached: "The agent did not come back.",
    } as Readonly<Record<string, string>>,
    withdrawnElse: "Answered in the terminal.",
    unattended: "The agent went on, or away, without an answer from here.",
    somebody: "somebody else",
    ownerCli: "a command on the machine",
    rule: (name: string, file: string) => `the rule ${name}${file && ` in ${file}`}`,
  },

  fields: {
    labels: {
      file_path: "File",
      notebook_path: "Notebook",
      old_string: "Take away",
      new_string: "Put in",
      content: "Content",
      new_source: "Content",
      url: "Address",
      path: "In",
      pattern: "Pattern",
      prompt: "Prompt",
      query: "Query",
      plan: "Plan",
      planFilePath: "Plan file",
      subagent_type: "Subagent",
    } as Readonly<Record<string, string>>,
    numbered: (number: number, name: string) => `${number}. ${name}`,
    agentSays: "the agent says",
    empty: "(empty)",
    lines: (count: number) => n(count, "1 line", "# lines"),
    characters: (count: number) => n(count, "1 character", "# characters"),
    realHost: (host: string) => `The browser reads the host ${host} in this address.`,
    hidden: (what: string, lines: number) => `${what} hidden · show all${lines > 1 ? ` ${lines} lines` : ""}`,
  },

  exact: {
    spaces: (count: number) => `⟦${n(count, "1 space", "# spaces")}⟧`,
    blankLines: (count: number) => `⟦${count} empty lines⟧`,
    tab: "⟦tab⟧",
    lineEnd: "⟦↵⟧",
  },

  diff: {
    goes: "goes: ",
    comes: "comes: ",
    change: "Change",
    place: (number: number) => `Change ${number}`,
    wholeFile: "The whole file becomes",
    longLines: "Long lines",
    overwrites: (o: { exists: boolean; lines?: number; bytes?: number } | undefined) =>
      !o ? "Replaces the file, if there is one: assent cannot see it from here." : o.exists ? `Replaces the file, ${o.lines === undefined ? `${o.bytes ?? 0} bytes` : cardWords.fields.lines(o.lines)} before.` : "A new file.",
  },

  shell: {
    readAs: (count: number) => `${n(count, "One part", "# parts")}, as the rules read them`,
    others: (count: number) => n(count, "1 more part stands in the text above only.", "# more parts stand in the text above only."),
    does: { command: "runs", write: "writes", read: "reads", assign: "sets", opaque: "runs what cannot be read" } as Readonly<Record<string, string>>,
    perhaps: (does: string | undefined) => `perhaps ${does}`,
    via: (way: string) => `by way of ${way}`,
    dir: (dir: string) => `in ${dir}`,
    dirUnknown: "in a directory that is known only when it runs",
    doubt: (why: string) => `No rule can be sure of this. ${why}`,
  },

  plan: {
    source: "Show as it is written",
    rendered: "Show as it is meant",
    then: "And then",
    modes: { "": "Ask me before each edit", acceptEdits: "Edit files without asking" },
  },

  edit: {
    noJSON: (name: string) => `What stands in ${name} is no JSON that can be sent.`,
    unseen: "This text holds characters that cannot be seen. The box holds them as they are; what changes is shown below it.",
  },

  question: {
    own: "In my own words",
    ownFor: (question: string) => `Own answer to: ${question}`,
  },

  form: {
    server: "MCP server",
    first: "The agent shows this form in its own terminal if nobody answers here within two minutes.",
    unknown: "This form cannot be answered here. Decline it, or wait for it in the terminal.",
    nothing: "It asks for nothing but a yes.",
    send: "Send",
    decline: "Decline",
    dismiss: "Dismiss",
    dismissMode: "Dismiss",
    dismissHint: "Closes the form without an answer. The server is told that nobody said yes or no.",
    dismissBlocks: "This closes the form. To send it, choose fewer answers.",
    required: "required",
    optional: "may be left out",
    yes: "Yes",
    no: "No",
    none: "No answer",
    closely: "Look closely. This is what is sent, with what cannot be seen in the box:",
    sent: "Sent to the MCP server:",
    answered: "Answered",
    declined: "Declined",
    missing: (what: string) => `Still to fill in: ${what}.`,
    notNumber: (what: string) => `${what}: this is no number.`,
    notWhole: (what: string) => `${what}: this is no whole number.`,
    least: (what: string, kind: string, count: number) =>
      kind === "text" ? `${what}: at least ${n(count, "1 character", "# characters")}.` : kind === "several" ? `${what}: choose at least ${count}.` : `${what}: at least ${count}.`,
    most: (what: string, kind: string, count: number) =>
      kind === "text" ? `${what}: at most ${n(count, "1 character", "# characters")}.` : kind === "several" ? `${what}: choose at most ${count}.` : `${what}: at most ${count}.`,
    format: (what: string, format: string) => `${what}: ${cardWords.form.formats[format] ?? format} is wanted.`,
    formats: { email: "an e-mail address", uri: "a web address", date: "a day", "date-time": "a moment like 2026-12-24T18:00:00Z" } as Readonly<Record<string, string>>,
    wants: (kind: string, format: string, least: number | undefined, most: number | undefined): string => {
      const what = { text: cardWords.form.formats[format] ?? "", number: "a number", integer: "a whole number", several: "as many as apply" }[kind] ?? "";
      const unit = kind === "text" ? " characters" : "";
      const range = least !== undefined && most !== undefined ? `${least} to ${most}${unit}` : least !== undefined ? `at least ${least}${unit}` : most !== undefined ? `at most ${most}${unit}` : "";
      return [what, range].filter(Boolean).join(", ");
    },
  },
};
