// The words of what waits, and what is above it.
import { n } from "./count";

export const queueWords = {
  desk: {
    sessions: "Sessions",
    allSessions: "All sessions",
    noSessions: "No session is running.",
    chooseSession: "Choose a session to see what happens in it.",
    waitingHere: "waiting",
    answerHere: (what: string, count: number) => `Waiting: ${what}${count > 1 ? `, and ${count - 1} more` : ""}`,
    whatHappened: "What happened",
    recent: "Recent",
    noneRecent: "Recent decisions appear here.",
    viewHistory: "View history",
    asking: "Asking the broker…",
    waiting: (count: number) => (count === 0 ? "none waiting" : `${count} waiting`),
    more: (count: number) => `${count} more · show the next`,
    seen: "Seen",
  },

  list: {
    at: (place: number, count: number) => `${place} of ${count}`,
    all: "see all",
    one: "back to the request",
    times: (count: number) => `×${count}`,
    risks: { calm: "Calm", normal: "Normal", attention: "Needs attention", danger: "Dangerous", asks: "Asks you" } as Readonly<Record<string, string>>,
    chooseFirst: (key: string) => `No request has the focus. ${key} goes to the next one.`,
    settled: "This request is settled.",
    next: "Next request",
    back: "Back to the inbox",
    same: (count: number) => `Give all ${count} identical requests this answer`,
    sameSome: (chosen: number, count: number) => `Give ${chosen} of ${count} identical requests this answer; the others came later`,
    sameDanger: (count: number) => `${count} identical requests. Each is answered separately, because it is dangerous.`,
  },

  toast: {
    previous: (what: string) => `Previous request: ${what}`,
    other: (what: string) => `Another request: ${what}`,
    failed: (what: string) => `Not answered: ${what}`,
    look: "View",
  },

  empty: {
    head: "All caught up",
    here: "When an agent asks for permission, the request appears here. You can leave this page open.",
    nothingComes: "Not seeing requests?",
    ways: ["`assent doctor` checks the setup on the machine where assent runs.", "`assent simulate` raises a sample request, without an agent."],
    notFound: "Command not found? Write `bin/assent` in the directory where you built it.",
  },

  rules: {
    news: "A rules file cannot be used.",
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
    noRequest: "This request no longer exists.",
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
    unseen: (count: number) => n(count, "1 chosen request has not been read yet.", "# chosen requests have not been read yet."),
    own: (count: number) => n(count, "1 chosen request can only be allowed on its own.", "# chosen requests can only be allowed on their own."),
    times: (count: number) => `${count} identical requests`,
    danger: (count: number) => n(count, "1 dangerous request must be answered on its own.", "# dangerous requests must be answered one by one."),
    stale: (gone: number, of: number) => `${gone} of ${of} chosen requests ${gone === 1 ? "no longer waits as you saw it" : "no longer wait as you saw them"}. Nothing was sent. Look again.`,
    done: (behavior: string, count: number) => `${behavior === "allow" ? "Allowed" : "Denied"} ${count}.`,
    settled: (count: number) => `${count} ${count === 1 ? "was" : "were"} already settled.`,
    failed: (count: number) => `${count} ${count === 1 ? "was" : "were"} not answered; look at ${count === 1 ? "it" : "them"} again.`,
    takenBack: "Taken back. Nothing was sent.",
    byItself: "Open on its own",
    fold: "Collapse",
    left: (time: string) => `${time} left`,
  },
};
