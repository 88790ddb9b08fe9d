// What the page knows of requests, as plain functions over plain values: no clock, no network,
// no signals. state.ts holds the values.
import { toolKind } from "../broker/tools";
import type { Approver, Decision, PermissionRequest, Problem, Shown } from "../broker/types.gen";
import { visibleLine } from "../text/visible";
import { words } from "../text/words";

/** A request with the members that assent always sets. */
export type Request = PermissionRequest & {
  id: string;
  sessionId: string;
  toolName: string;
  inputSha256: string;
  createdAt: string;
  deadline: string;
};

export function isRequest(r: PermissionRequest): r is Request {
  return !!(r.id && r.inputSha256 && r.createdAt && r.deadline) && typeof r.sessionId === "string" && typeof r.toolName === "string";
}

/** What became of this page's own answer. */
export type Attempt =
  | { phase: "sending"; behavior: "allow" | "deny"; at: number; held?: boolean } // held: it can still be taken back
  | { phase: "taken"; behavior: "allow" | "deny"; at: number; ms: number; delivered: boolean; decision?: Answer }
  | { phase: "failed"; behavior: "allow" | "deny"; at: number; why: string };

/** What is answered, without what it is about. */
export type Answer = Omit<Decision, "inputSha256">;

export interface Item {
  request: Request;
  /** The whole request as GET gives it: with all of `shown`, and raw. */
  whole?: Request;
  attempt?: Attempt;
  /** When this page first heard that it is over, by Date.now(); 0 while it waits. */
  endedAt: number;
  /** What the page knows beyond the record: it vanished while we were away. */
  lost?: boolean;
  /** Somebody came to look at this very one: it stays for longer. */
  kept?: boolean;
}

export type Tone = "wait" | "good" | "bad" | "gone" | "loud";

export interface Line {
  text: string;
  tone: Tone;
}

/** The one line that says how a request stands after an answer, ours or another's. */
export function outcomeLine(item: Item, now: number): Line | undefined {
  const { request: r, attempt } = item;
  if (r.delivery === "overruled") {
    return { text: r.outcome === "allowed" ? words.outcome.overruledEdit : words.outcome.overruled, tone: "loud" };
  }
  const mine = attempt?.phase === "taken";
  switch (r.outcome) {
    case "allowed":
    case "denied": {
      const word = wordFor(r, r.outcome === "allowed");
      const tone: Tone = r.outcome === "allowed" && r.reason !== "tool_failed" ? "good" : "bad";
      const said = mine ? word : words.outcome.by(word, approver(r.decidedBy));
      return { text: `${said}. ${delivered(item, now)}`.trim(), tone };
    }
    case "expired":
      return {
        text: r.onTimeout === "deny" ? words.outcome.expiredDenied : words.outcome.expired,
        tone: "gone",
      };
    case "withdrawn":
      return { text: r.attended === "no" && /^(tool_ran|hangup|turn_ended)$/.test(r.reason ?? "") ? words.outcome.unattended : withdrawn(r.reason), tone: "gone" };
    case "handed_back":
      return { text: r.reason === "too_large" ? words.outcome.tooLarge : words.outcome.handedBack, tone: "gone" };
  }
  if (item.lost) return { text: words.outcome.lost, tone: "gone" };
  if (attempt?.phase === "sending") return { text: words.answer.sending, tone: "wait" };
  if (attempt?.phase === "taken") {
    const word = wordFor(r, attempt.behavior === "allow");
    return { text: `${word}. ${delivered(item, now)}`, tone: attempt.behavior === "allow" ? "good" : "bad" };
  }
  return undefined;
}

/** Whether an MCP server asks, and not a tool. */
export function isForm(r: Request): boolean {
  return r.event === "Elicitation";
}

function wordFor(r: Request, yes: boolean): string {
  if (isForm(r)) return yes ? words.form.answered : words.form.declined;
  if (yes && toolKind(r.toolName) === "question") return words.form.answered;
  return yes ? (r.allowed?.changes ? words.outcome.edited : words.outcome.allowed) : words.outcome.denied;
}

function delivered(item: Item, now: number): string {
  const { request: r, attempt } = item;
  if (r.delivery === "confirmed") return r.reason === "tool_failed" ? words.outcome.ranFailed(r.failure ?? "") : words.outcome.ran;
  if (attempt?.phase === "taken" && (attempt.delivered || r.delivery === "delivered")) {
    return attempt.delivered ? words.outcome.deliveredIn(Math.max(0.1, attempt.ms / 1000).toFixed(1)) : words.outcome.delivered;
  }
  if (r.delivery === "delivered") return words.outcome.delivered;
  if (attempt?.phase !== "taken") return "";
  return now - attempt.at > 5000 ? words.outcome.notTaken : words.outcome.recorded;
}

function withdrawn(reason: string | undefined): string {
  const known = words.outcome.withdrawn;
  return reason && Object.hasOwn(known, reason) ? known[reason]! : words.outcome.withdrawnElse;
}

export function approver(by: Approver | undefined): string {
  if (!by) return words.outcome.somebody;
  if (by.kind === "owner-cli") return words.outcome.ownerCli;
  const name = visibleLine(by.name ?? ""); // a device brings its own
  if (by.kind === "rule") return words.outcome.rule(name || visibleLine(by.id ?? ""), visibleLine(by.file ?? ""));
  // One that calls itself what is said of others.
  if (/rule|on the machine|somebody|owner-cli/i.test(name)) return words.outcome.named(visibleLine(by.kind), name);
  return name || visibleLine(by.id || by.kind);
}

/** A conflict carries what the request's record says; fold it in at once instead of waiting
 * for the live message. */
export function settle(r: Request, problem: Partial<Problem>): Request {
  if (!problem.outcome) return r;
  const next: Request = { ...r, state: "ended", outcome: problem.outcome };
  if (problem.decidedBy) next.decidedBy = problem.decidedBy;
  return next;
}

/** Applies news of a request. A step back (a snapshot that is older than the answer to our own
 * POST) is not taken. */
export function newer(old: Request | undefined, r: Request): Request {
  return old?.state === "ended" && r.state !== "ended" ? old : r;
}

export interface Group {
  sessionId: string;
  items: Item[];
  waiting: number;
}

/** Requests by session. Oldest first, news goes to the end and nothing above it moves; by
 * deadline, what expires next comes first. */
export function grouped(items: Iterable<Item>, order: "age" | "deadline" = "age"): Group[] {
  const groups = new Map<string, Group>();
  const sorted = inOrder(items, order);
  for (const item of sorted) {
    const id = item.request.sessionId;
    let g = groups.get(id);
    if (!g) groups.set(id, (g = { sessionId: id, items: [], waiting: 0 }));
    g.items.push(item);
    if (!item.endedAt) g.waiting++;
  }
  return [...groups.values()];
}

export function inOrder(items: Iterable<Item>, order: "age" | "deadline"): Item[] {
  const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
  const age = (a: Request, b: Request) => compare(a.createdAt, b.createdAt) || compare(a.id, b.id);
  return [...items].sort(({ request: a }, { request: b }) => (order === "deadline" ? Date.parse(a.deadline) - Date.parse(b.deadline) : 0) || age(a, b));
}

/** The last element of a path, which is what people call their sessions. */
export function lastElement(path: string | undefined): string {
  const parts = (path ?? "").split(/[/\\]/).filter((p) => p !== "");
  return parts[parts.length - 1] ?? "";
}

export function sessionName(r: { cwd?: string; repo?: { root?: string }; sessionId: string }): string {
  return lastElement(r.cwd) || lastElement(r.repo?.root) || words.session.unnamed(r.sessionId.slice(0, 8));
}

/** The repository as a person would say it; empty when that is the session's name already. */
export function repoName(r: Request): string {
  const name = lastElement(r.repo?.root);
  return name === sessionName(r) ? "" : name;
}

export function shownOf(item: Item): Shown | undefined {
  return (item.whole ?? item.request).shown;
}

/** How long since: "now", "40 s", "12 min", "3 h 5 min". */
export function since(ms: number): string {
  const s = Math.floor(ms / 1000);
  if (s < 3) return words.time.now;
  if (s < 60) return words.time.seconds(s);
  const min = Math.floor(s / 60);
  if (min < 60) return words.time.minutes(min);
  const h = Math.floor(min / 60);
  return h < 24 ? words.time.hours(h, min % 60) : words.time.days(Math.floor(h / 24), h % 24);
}

/** "5 min ago"; also of a time that is a little ahead of the clock. */
export function agoWords(ms: number): string {
  return ms < 3000 ? words.time.justNow : words.time.ago(since(ms));
}

const ranks: readonly string[] = ["view", "approve", "admin"];

/** Whether the broker would let this browser take a device out: itself, and, where it may
 * decide, those that may do no more than it. A token's role is not known here. */
export function mayRevoke(own: { id: string; role: string } | undefined, other: { id: string; role: string }): boolean {
  if (!own || own.id === other.id) return true;
  return own.role === "admin" || (own.role === "approve" && ranks.indexOf(other.role) <= ranks.indexOf(own.role));
}
