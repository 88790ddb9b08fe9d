// The words of what happened in a session.
export const storyWords = {
  past: { less: "Show less", all: "Show all" },

  feed: {
    earlier: "Show what was before",
    fetching: "Fetching…",
    nothing: "Nothing happened in this session yet.",
    newest: "To the newest",
    tasks: (done: number, all: number) => `Tasks: ${done} of ${all} done`,
    search: "Search all sessions",
    notFound: "Nothing was found.",
    found: "Found",
    session: "Session",
    states: {
      unknown: "Unknown",
      starting: "Starting",
      working: "Working",
      ask_user: "Asks",
      plan_prompt: "Has a plan",
      blocked_on_permission: "Wants permission",
      waiting_for_input: "Waits for a prompt",
      exited: "Over",
    },
    turnOver: "The turn is over",
    gone: "The agent is gone",
    heard: (ago: string) => `last heard of ${ago}`,
  },
};
