// The messages to the session that is shown, as the broker tells of them.
import { signal } from "@preact/signals";
import type { Message } from "../broker/types.gen";

/** The session whose messages are kept, "" for none. */
const of = signal("");
/** Its messages, the oldest first. */
export const messages = signal<readonly Message[]>([]);

/** The session to which its reader came to write, until its line has the cursor. */
export const writing = signal("");

/** Puts the cursor into the line of a session, as soon as it is there. */
export function writeTo(session: string): void {
  writing.value = session;
}

/** Keeps the messages of another session from now on. */
export function keepMessagesOf(session: string): void {
  if (of.peek() === session) return;
  of.value = session;
  messages.value = [];
}

/** Takes messages in, which the broker sent or answered with: those of the session that is shown. */
export function heard(news: readonly Message[]): void {
  const next = new Map(messages.peek().map((m) => [m.id, m]));
  for (const m of news) {
    const old = next.get(m.id);
    if (m.sessionId === of.peek() && !(old && old.steps.length > m.steps.length)) next.set(m.id, m);
  }
  messages.value = [...next.values()].sort((a, b) => a.steps[0]!.at.localeCompare(b.steps[0]!.at) || a.id.localeCompare(b.id));
}
