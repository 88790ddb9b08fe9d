// What notifications say. On its own, so that the service worker holds no other words.
import { n } from "./count";

export const ringing = {
  asked: { permission: "A request waits", question: "A question waits", plan: "A plan waits" },
  inSession: (session: string) => `In ${session}`,
  many: (count: number) => `${count} requests wait`,
  tap: "Tap to look at it",
  settled: { allowed: "Allowed", denied: "Denied", expired: "Expired: nobody answered in time", other: "No longer waiting" },
  manySettled: "Nothing waits any more",
  still: (count: number) => (count === 0 ? "" : n(count, "1 request still waits", "# requests still wait")),
  test: "This is how assent tells you that a request waits",
  unreadable: "Something happened that this page is too old to tell. Open it to see what waits.",
};
