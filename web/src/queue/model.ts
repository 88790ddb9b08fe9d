// What the page knows of requests, as plain functions over plain values: no clock, no network,
// no signals. state.ts holds the values.
import { needsAnswer, toolKind } from "../broker/tools";
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

/** handback: neither; the agent's own prompt decides. */
export type Behavior = "allow" | "deny" | "handback";

/** What became of this page's own answer. */
export type Attempt =
  | { phase: "sending"; behavior: Behavior; at: number; held?: boolean; asks?: boolean } // held: it can still be taken back; asks: the browser asks its owner to confirm
  | { phase: "taken"; behavior: Behavior; at: number; ms: number; delivered: boolean; decision?: Answer }
  | { phase: "failed"; behavior: Behavior; at: number; why: string };

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
  /** What this page did beside its answer: a sentence. */
  remark?: string;
}

export type Tone = "wait" | "good" | "bad" | "gone" | "loud";

export interface Line {
  text: string;
  tone: Tone;
  /** Of a decision, the text in two: "Allowed by phone", and how far it has come. */
  said?: string;
  rest?: string;
}

/** The one line that says how a request stands after an answer, ours or another's. */
export function outcomeLine(item: Item, now: number): Line | undefined {
  const { request: r, attempt } = item;
  if (r.delivery === "overruled") {
    return { text: r.contained ? words.outcome.overruledContained : r.outcome === "allowed" ? words.outcome.overruledEdit : words.outcome.overruled, tone: "loud" };
  }
  const mine = attempt?.phase === "taken";
  switch (r.outcome) {
    case "allowed":
    case "denied": {
      const word = wordFor(r, r.outcome === "allowed");
      const tone: Tone = r.outcome === "allowed" && !r.reason ? "good" : "bad"; // the tool failed, or the hook refused
      const said = mine ? word : settledBy(word, r.decidedBy);
      return decision(said, delivered(item, now), tone);
    }
    case "expired":
      return {
        text: r.onTimeout === "deny" ? words.outcome.expiredDenied : words.outcome.expired,
        tone: "gone",
      };
    case "withdrawn":
      return { text: r.attended === "no" && /^(tool_ran|hangup|turn_ended)$/.test(r.reason ?? "") ? words.outcome.unattended : withdrawn(r.reason), tone: "gone" };
    case "handed_back":
      return mine || r.reason === "person" ? handedBack(mine ? undefined : r.decidedBy) : { text: r.reason === "too_large" ? words.outcome.tooLarge : words.outcome.handedBack, tone: "gone" };
  }
  if (item.lost) return { text: words.outcome.lost, tone: "gone" };
  if (attempt?.phase === "sending") return { text: words.answer.sending, tone: "wait" };
  if (attempt?.phase === "taken") {
    if (attempt.behavior === "handback") return handedBack(undefined);
    const word = wordFor(r, attempt.behavior === "allow");
    return decision(word, delivered(item, now), attempt.behavior === "allow" ? "good" : "bad");
  }
  return undefined;
}

/** by is who left it to the agent's own prompt, undefined for this page itself. */
function handedBack(by: Approver | undefined): Line {
  const said = by && by.kind !== "owner-cli" ? settledBy(words.outcome.left, by) : words.outcome.left;
  return decision(said, words.outcome.promptDecides, "gone");
}

function decision(said: string, rest: string, tone: Tone): Line {
  return { text: `${said}. ${rest}`.trim(), tone, said, rest };
}

/** The same in two lines that stand by themselves: which request it was, and how it was settled. here: its
 * card is still before the reader. */
export function toastLine(item: Item, now: number, here = false): { what: string; rest: string; tone: Tone } | undefined {
  const what = saysOf(item);
  if (item.attempt?.phase === "failed" && !item.endedAt) return { what: words.toast.failed(small(what)), rest: item.attempt.why, tone: "bad" };
  const line = outcomeLine(item, now);
  if (!line) return undefined;
  const which = item.attempt?.phase === "taken" ? words.toast.previous : words.toast.other;
  return { what: here ? what : which(small(what)), rest: [line.text, item.remark].filter(Boolean).join(" "), tone: line.tone };
}

/** A sentence as it goes on behind a colon. */
function small(sentence: string): string {
  return /^\p{Lu}\p{Ll}/u.test(sentence) ? sentence[0]!.toLowerCase() + sentence.slice(1) : sentence;
}

/** Whether an MCP server asks, and not a tool. */
export function isForm(r: Request): boolean {
  return r.event === "Elicitation";
}

function wordFor(r: Request, yes: boolean): string {
  if (isForm(r)) return yes ? words.form.answered : words.form.declined;
  if (yes && toolKind(r.toolName) === "question") return words.form.answered;
  if (yes && r.contained) return words.outcome.contained;
  return yes ? (r.allowed?.changes ? words.outcome.edited : words.outcome.allowed) : words.outcome.denied;
}

function delivered(item: Item, now: number): string {
  const { request: r, attempt } = item;
  if (r.delivery === "refused") return words.outcome.refused(r.failure ?? "");
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

/** "Denied on “desk”", "Allowed from the terminal": word is what was done, by whomever. */
export function settledBy(word: string, by: Approver | undefined): string {
  if (by?.kind === "owner-cli") return words.outcome.fromTerminal(word);
  return by?.kind === "device" ? words.outcome.on(word, visibleLine(by.name || by.id || "")) + (by.verified ? words.outcome.verified : "") : words.outcome.by(word, approver(by));
}

export function approver(by: Approver | undefined): string {
  if (!by) return words.outcome.somebody;
  if (by.kind === "owner-cli") return words.outcome.ownerCli;
  const name = visibleLine(by.name ?? ""); // a device brings its own
  if (by.kind === "rule") return words.outcome.rule(name || visibleLine(by.id ?? ""), visibleLine(by.file ?? ""));
  // One that calls itself what is said of others.
  if (/rule|terminal|somebody|owner-cli/i.test(name)) return words.outcome.named(visibleLine(by.kind), name);
  return (name || visibleLine(by.id || by.kind)) + (by.verified ? words.outcome.verified : "");
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

/** Whether it is over, as far as this page is concerned. */
export function isSettled(item: Item): boolean {
  return item.endedAt !== 0 || !!item.lost || item.attempt?.phase === "taken";
}

/** Whether it waits for the reader: not over, and with no answer that can still be taken back. */
export function waits(item: Item): boolean {
  return !isSettled(item) && !(item.attempt?.phase === "sending" && item.attempt.held);
}

/** What a request would do, in assent's words. */
export function saysOf(item: Item): string {
  const { request: r } = item;
  const verb = shownOf(item)?.verb || words.card.use(visibleLine(r.toolName));
  // Of what this page has edited the broker says the effects when it has recorded it.
  const edited = item.attempt?.phase === "taken" && item.attempt.decision?.updatedInput && !r.allowed;
  return wantsMore(r) || edited ? verb : r.sentence || verb;
}

/** Whether it wants more than a yes or a no: its effect is what is answered. */
export function wantsMore(r: Request): boolean {
  return isForm(r) || needsAnswer(r.toolName);
}

/** The same with where it is, for who cannot see that: "Pushes to origin/main, checkout". */
export function nameOf(item: Item): string {
  return words.news.requestIn(saysOf(item), visibleLine(sessionName(item.request)));
}

/** Identical requests: one tool, one input, one project. */
export interface Entry {
  items: readonly Item[];
}

/** Puts identical requests together, where the first of them is. What wants an answer of its own,
 * or may not be what it looks like, stays alone. */
export function folded(sorted: readonly Item[]): Entry[] {
  const entries = new Map<string, Item[]>();
  for (const item of sorted) {
    const r = item.request;
    const alone = wantsMore(r) || r.event || r.uninspectable;
    const key = alone ? r.id : JSON.stringify([r.toolName, r.inputSha256, r.host, r.repo?.root, r.cwd]);
    const e = entries.get(key);
    if (e) e.push(item);
    else entries.set(key, [item]);
  }
  return [...entries.values()].map((items) => ({ items }));
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
  return projectName(r.cwd) || projectName(r.repo?.root) || words.session.unnamed(r.sessionId.slice(0, 8));
}

/** The directory of the project at a path. Work trees that Claude Code or a host makes are within their project. */
export function projectDir(path: string | undefined): string {
  return path?.split("/.claude/worktrees/")[0] ?? "";
}

/** What people call the project at a path. */
export function projectName(path: string | undefined): string {
  return lastElement(projectDir(path));
}

/** The repository as a person would say it; empty when that is the session's name already. */
export function repoName(r: Request): string {
  const name = projectName(r.repo?.root);
  return name === sessionName(r) ? "" : name;
}

/** What is asked for, and once something else was allowed in its place, that: what ran. */
export function shownOf(item: Item): Shown | undefined {
  const edited = item.request.delivery === "overruled" ? undefined : item.request.allowed?.shown;
  return edited ?? (item.whole ?? item.request).shown;
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

const ranks: readonly string[] = ["view", "approve", "operate", "admin"];

/** Whether the broker would let this browser take a device out: itself, and, where it may
 * decide, those that may do no more than it. A token's role is not known here. */
export function mayRevoke(own: { id: string; role: string } | undefined, other: { id: string; role: string }): boolean {
  if (!own || own.id === other.id) return true;
  return own.role === "admin" || (own.role !== "view" && ranks.indexOf(other.role) <= ranks.indexOf(own.role));
}
