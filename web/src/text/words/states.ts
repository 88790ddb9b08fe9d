// How a session stands, in words.
export const stateWords = {
  feed: {
    states: {
      unknown: "Unknown",
      starting: "Starting",
      working: "Working",
      ask_user: "Asks a question",
      plan_prompt: "Has a plan",
      blocked_on_permission: "Wants permission",
      waiting_for_input: "Waiting for a prompt",
      exited: "Ended",
    },
    turnOver: "Turn finished",
    gone: "The agent is gone",
  },
};
