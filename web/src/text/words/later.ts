// The words of parts whose script comes when they are wanted: they are not in the first load. Who shows
// one of these is fetched late, too.
import { n } from "./count";

export const laterWords = {
  rename: {
    rename: "Rename",
    name: "New name",
    save: "Save",
    saved: "Renamed.",
    failed: (why: string) => `Not renamed: ${why}.`,
  },
  halt: {
    stopped: (since: string, who: string) => `**Everything is stopped** since ${since}, by ${who}. Rules and grants are suspended: every request waits for a person.`,
    paused: (until: string, who: string) => `**Everything is paused** until ${until}, by ${who}. New requests are left to the agents' own prompts.`,
    lift: "Resume",
    liftNow: "Resume now",
    stopHead: "Stop everything",
    stopWhy: "Denies everything that is waiting, and suspends all rules and grants that allow, until somebody resumes. The agents are told who stopped them. Rules that deny still apply.",
    stop: "Stop everything",
    stopNow: "Stop now",
    stopping: "Stopping…",
    denied: (count: number) => `Stopped. ${n(count, "1 request was denied.", "# requests were denied.")}`,
    left: (count: number) => n(count, "1 request could not be denied. Try again.", "# requests could not be denied. Try again."),
    lifted: "Rules and grants are in force again.",
    pauseHead: "Pause",
    pauseWhy: "For a while, new requests are not held here: the agent's own prompt in its terminal decides. Requests that are already waiting stay. Rules that deny still apply.",
    pauseFor: (time: string) => `Pause for ${time}`,
    pauses: { 900: "15 minutes", 3600: "1 hour", 28800: "8 hours" } as Readonly<Record<number, string>>,
    resumed: "New requests come here again.",
    notAllowed: "This browser can see requests, but not stop anything.",
    cancel: "Cancel",
    changed: "Somebody stopped, paused or resumed just now. Look again.",
    failed: (why: string) => `Not done: ${why}.`,
  },
};
