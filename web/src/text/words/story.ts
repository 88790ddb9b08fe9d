// The words of what happened in a session. They come with the parts that load later; how a session
// stands is in states.ts.
import { n } from "./count";

export const storyWords = {
  feed: {
    earlier: "Show earlier",
    fetching: "Fetching…",
    nothing: "Nothing has happened in this session yet.",
    newest: "Jump to latest",
    you: "You",
    agent: "Agent",
    subagent: "Subagent",
    from: (who: string) => `From ${who}`,
    anotherSession: "another session",
    emptyPrompt: "(an empty prompt)",
    changed: (files: number) => n(files, "1 file changed", "# files changed"),
    changedPart: "By the calls shown below. Show earlier ones for the rest.",
    toCall: "Go to the call",
    blind: "The whole file as written. Its previous content is not known.",
    call: {
      marks: {
        running: "Running",
        waiting: "Waiting for an answer",
        allowed: "Allowed",
        ran: "Ran",
        failed: "Failed",
        denied: "Denied",
        over: "Ended",
        overruled: "Ran anyway",
      },
      refused: (why: string) => `Refused by the hook, so the agent's own prompt decided: ${why}`,
      handedBack: "Handed back to the agent's own prompt",
      byAgent: "Denied by the agent itself",
      interrupted: "interrupted",
      noResult: "no result",
      ended: {
        deadline: "Nobody answered in time",
        tool_ran: "Answered in the terminal",
        turn_ended: "Answered in the terminal",
        hangup: "Answered in the terminal, or stopped",
        session_over: "The session ended",
        detached: "The agent did not come back",
      } as Readonly<Record<string, string>>,
      unanswered: "Not answered here",
    },
    tasks: (done: number, all: number) => `Tasks: ${done} of ${all} done`,
    search: "Search all sessions",
    notFound: "No results.",
    found: "Results",
    session: "Session",
    heard: (ago: string) => `last heard of ${ago}`,
  },
};
