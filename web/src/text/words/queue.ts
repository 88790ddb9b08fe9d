// The words of what waits, and what is above it.
import { n } from "./count";

export const queueWords = {
  desk: {
    sessions: "Sessions",
    all: "All",
    whatHappened: "What happened",
    settledLately: "Settled lately",
    nothingSettled: "What is answered while this page is open shows up here.",
    settledBefore: "What was answered before",
    asking: "Asking the broker what waits…",
    nothingHere: "Nothing waits in this session.",
    waiting: (count: number) => (count === 0 ? "none waiting" : `${count} waiting`),
    more: (count: number) => `${count} more wait · show the next`,
    overruledEdit: "**Overruled.** {what} in {where} was allowed as edited and has run as it was asked for.",
    overruled: "**Overruled in the terminal.** {what} in {where} was denied here and has run all the same.",
    seen: "Seen",
  },

  empty: {
    head: "Nothing waits for you",
    here: "When an agent asks for permission, it shows up here by itself. This page can stay open.",
    nothingComes: "An agent is at work, and nothing comes? On the machine where assent runs:",
    ways: ["`assent doctor` says what is missing.", "`assent simulate` raises a sample request, without an agent."],
    notFound: "Command not found? Write `bin/assent` in the directory where you built it.",
  },

  rules: {
    noneInForce: "The rules cannot be used: no rule allows anything.",
    oldInForce: "A file of rules cannot be used as it is now.",
    everythingWaits: "Every request waits for you, unless a rule denies it.",
    beforeInForce: "What it said before is still in force.",
    more: (count: number) => `and ${count} more`,
    news: "A file of rules cannot be used.",
    asks: "A rule wants you to decide.",
    at: (rule: string, file: string) => `rule ${rule}${file && ` in ${file}`}`,
    notAnswered: (reason: string) => `Not answered by a rule: ${reason}`,
    trial: (rule: string, action: string) =>
      `On trial: rule ${rule} would have ${action === "allow" ? "allowed" : action === "deny" ? "denied" : "asked about"} it.`,
  },

  news: {
    overruled: (what: string) => `Overruled in the terminal: ${what}`,
    request: (what: string) => `New request: ${what}`,
    requests: (count: number, what: string) => `${count} new requests, the last: ${what}`,
    requestIn: (what: string, where: string) => `${what}, ${where}`,
    lastMinute: (count: number, what: string) => (count === 1 ? `One minute left: ${what}` : `One minute left for ${count} requests, the first: ${what}`),
    noRequest: "There is no such request any more.",
  },

  hold: {
    one: (answer: string, what: string) => `${answer}: ${what}`,
    several: (answer: string, count: number) => `${answer}: ${n(count, "1 request", "# requests")}`,
    soon: "Not sent yet",
    undo: "Undo",
    over: "Done",
  },

  inbox: {
    order: "Order",
    age: "Oldest first",
    deadline: "Due first",
    one: "One by one",
    many: "Many at once",
    alike: (tool: string, name: string) => (name ? `${tool} · ${name}` : tool),
    chooseAll: (name: string) => `Choose all: ${name}`,
    choose: (what: string, where: string) => `Choose: ${what}, ${where}`,
    chosen: (count: number) => `${count} chosen`,
    noneChosen: "Choose requests to answer them together.",
    clear: "Clear",
    allow: (count: number) => `Allow ${count}`,
    deny: (count: number) => `Deny ${count}`,
    unseen: (count: number) => n(count, "1 chosen request was not on the screen whole.", "# chosen requests were not on the screen whole."),
    own: (count: number) => n(count, "1 chosen request can only be allowed by itself.", "# chosen requests can only be allowed by themselves."),
    stale: (gone: number, of: number) => `${gone} of ${of} chosen requests ${gone === 1 ? "no longer waits as you saw it" : "no longer wait as you saw them"}. Nothing was sent. Look again.`,
    done: (behavior: string, count: number) => `${behavior === "allow" ? "Allowed" : "Denied"} ${count}.`,
    settled: (count: number) => `${count} ${count === 1 ? "was" : "were"} settled already.`,
    failed: (count: number) => `${count} ${count === 1 ? "was" : "were"} not answered; look at ${count === 1 ? "it" : "them"} again.`,
    takenBack: "Taken back. Nothing was sent.",
    byItself: "Look at it by itself",
    fold: "Fold",
    left: (time: string) => `${time} left`,
  },
};
