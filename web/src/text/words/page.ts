// The words of the page as a whole: its name, its parts, its connection, times.
export const pageWords = {
  title: "assent",
  waitingTitle: (waiting: number) => (waiting ? `(${waiting}) assent` : "assent"),
  close: "Close",
  tryAgain: "Try again",
  oneMoment: "One moment…",

  link: {
    live: "Live",
    connecting: "Connecting…",
    waiting: "No connection. This may be out of date; trying again",
    offline: "This device is offline. This may be out of date",
  },

  later: {
    failed: "This part of the page could not be loaded. The broker is not reachable, or newer than this page.",
    reload: "Reload the page",
  },

  views: {
    label: "Parts of the page",
    skip: "Skip to content",
    skipToRequest: "Skip to the request",
    inbox: "Inbox",
    sessions: "Sessions",
    history: "History",
    decisions: "Decisions",
    charts: "Charts",
    rules: "Rules",
    you: "You",
  },

  session: { unnamed: (id: string) => `session ${id}` },

  time: {
    now: "now",
    seconds: (s: number) => `${s} s`,
    minutes: (m: number) => `${m} min`,
    hours: (h: number, m: number) => `${h} h ${m} min`,
    days: (d: number, h: number) => `${d} d ${h} h`,
    justNow: "just now",
    ago: (time: string) => `${time} ago`,
  },

  broker: {
    noAnswer: "no answer from the broker",
    answered: (status: number) => `the broker answered ${status}`,
  },
};
