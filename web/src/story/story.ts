// The feed of one session, as the page has it: plain functions over plain values. feed.ts holds
// the values.
import type { AgentState, FeedEvent, FeedEventBase, SessionInfo } from "../broker/types.gen";
import { words } from "../text/words";

/** What the page needs of an event; its title and body are safe to show. */
export type Line = FeedEventBase;

export interface Story {
  sessionId: string;
  /** By position, without holes. */
  lines: readonly Line[];
  /** There are older ones that are not here. */
  earlier: boolean;
}

/** How many events are kept. Beyond it the oldest go; they can be fetched again. */
export const most = 3000;

/** Appends what follows; what is here already is passed over. */
export function append(story: Story, news: readonly Line[]): Story {
  const last = story.lines[story.lines.length - 1]?.pos ?? 0;
  const fresh = news.filter((e) => e.pos > last);
  if (fresh.length === 0) return story;
  const lines = [...story.lines, ...fresh];
  const cut = lines.length > most ? lines.length - most : 0;
  return { ...story, lines: cut ? lines.slice(cut) : lines, earlier: story.earlier || cut > 0 };
}

/** Puts older ones before; earlier says whether there are still older ones. */
export function prepend(story: Story, older: readonly Line[], earlier: boolean): Story {
  const first = story.lines[0]?.pos ?? Infinity;
  return { ...story, lines: [...older.filter((e) => e.pos < first), ...story.lines], earlier };
}

/** What a person reads: hidden events are left out. */
export function readable(lines: readonly Line[]): Line[] {
  return lines.filter((e) => !e.ui?.hidden);
}

/** The ids of the events that belong to a subagent. Requests and decisions are the system's, but
 * a reader wants to see them where the call stands that they are about. */
export function ofSubagents(lines: readonly Line[]): Set<string> {
  const subs = new Set<string>();
  for (const e of lines as readonly FeedEvent[]) {
    const theirs =
      e.kind === "permission.request"
        ? !!e.data.agent_id
        : e.actor_id.startsWith("subagent:") || (e.kind.startsWith("permission.") && subs.has(e.cause?.parent_event_id ?? ""));
    if (theirs) subs.add(e.event_id);
  }
  return subs;
}

/** The badge worth showing: that of an ordinary call or turn says what its title begins with. */
export function badge(e: Line): string {
  return e.level === "warn" || e.level === "error" ? (e.ui?.badge ?? "") : "";
}

/** A title with its sign kept on the line of its first word. Many systems have no ⎿, which
 * terminals do. */
export function signed(title: string): string {
  return title.replace(/^⎿/, "↳").replace(/^([^\p{L}\p{N}]) /u, "$1\u00a0");
}

/** The first line of the body with a word that was looked for and that the title does not show;
 * without it a reader could not tell why an event was found. */
export function foundLine(e: Line, looked: string): string {
  const title = e.title.toLowerCase();
  const lines = (e.body ?? "").split("\n");
  for (const w of looked.toLowerCase().replaceAll('"', " ").split(/\s+/)) {
    if (!w || title.includes(w)) continue;
    const line = lines.find((l) => l.toLowerCase().includes(w));
    if (line !== undefined) return line.trim();
  }
  return "";
}

const longBody = 600; // characters; a longer one starts folded

/** The end of a turn repeats what the agent said last, so it starts folded, too. */
export function startsOpen(e: Line): boolean {
  return !e.ui?.collapsed_default && e.kind !== "stop.request" && (e.body?.length ?? 0) <= longBody;
}

/** Where a session works, for what says paths from there. */
export function placeOf(s: SessionInfo | undefined): { projectDir: string; cwd: string } {
  const cwd = s?.cwd ?? "";
  return { projectDir: s?.repo?.root || s?.projectDir || cwd, cwd };
}

const states: Record<AgentState, string> = words.feed.states;

export function stateWords(s: SessionInfo | undefined): string {
  return s?.lastTurn || (s?.agentProcess === "gone" && s.state === "exited" ? words.feed.gone : restsNow(s) ? words.feed.turnOver : (states[s?.state as AgentState] ?? states.unknown));
}

/** Whether the turn has just ended. For a minute the broker still says that the agent works: a hook
 * may have it go on. */
export function restsNow(s: SessionInfo | undefined): boolean {
  return s?.state === "working" && !!s.turnOver;
}

/** How a session's dot looks: who waits for a person, what for, who is at work, who rests. */
export function stateDot(s: SessionInfo | undefined): "asks" | "plan" | "works" | "rests" {
  switch (s?.state) {
    case "blocked_on_permission":
    case "ask_user":
      return "asks";
    case "plan_prompt":
      return "plan";
    case "working":
    case "starting":
      return restsNow(s) ? "rests" : "works";
  }
  return "rests";
}

/** The sessions of the rail beside those in which something waits: the newest first. What is over
 * is found by the search and in the history. */
export function listed(all: Iterable<SessionInfo>, limit: number): SessionInfo[] {
  return [...all]
    .filter((s) => s.state !== "exited")
    .sort((a, b) => (b.startedAt ?? "").localeCompare(a.startedAt ?? "") || a.sessionId.localeCompare(b.sessionId))
    .slice(0, limit);
}
