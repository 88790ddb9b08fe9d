// What the page shows, as signals, and everything that changes it.
import { computed, signal } from "@preact/signals";
import { agents, starting } from "../agents/agents";
import { decide, getRequest, handBack, listEnded } from "../broker/api";
import { clockSkew, now, tickClock } from "../broker/clock";
import { ApiError, reason, sentence } from "../broker/http";
import { Live, type Link } from "../broker/socket";
import type { Halt, PermissionRequest, SessionInfo, WSMessage } from "../broker/types.gen";
import type { RecordAlarm } from "../device/record";
import { authorized, Unpaired } from "../device/session";
import { preferences } from "../panels/preferences";
import { heard, keepMessagesOf } from "../story/messages";
import { visibleLine } from "../text/visible";
import { words } from "../text/words";
import { view } from "../view";
import { each, type Result } from "./choice";
import { hold, takeBackAll } from "./hold";
import { wantsVerification } from "./friction";
import { left } from "./seen";
import { grouped, isRequest, nameOf, newer, saysOf, settle, waits, type Answer, type Behavior, type Item, type Request } from "./model";

export type RuleTrouble = Extract<WSMessage, { type: "rules" }>;

/** Whether this browser may speak with the broker. */
export type Standing = "starting" | "unpaired" | "busy" | "waiting" | "in";

export const standing = signal<Standing>("starting");
/** Why the page is not in, or could not pair: a sentence. */
export const trouble = signal("");
/** The browser refuses to keep a key: a pairing lasts until the page is closed. */
export const keepsNothing = signal(false);
export const link = signal<Link>("connecting");
export const linkTrouble = signal("");
/** True once the first snapshot is here: before it, an empty list means nothing. */
export const known = signal(false);
export const items = signal<ReadonlyMap<string, Item>>(new Map());
export const selected = signal(""); // a session's id, "" for all
/** How the sessions stand that were lately heard of, by id. */
export const sessions = signal<ReadonlyMap<string, SessionInfo>>(new Map());
/** Ended requests, newest first; kept in memory only. */
export const recent = signal<readonly Item[]>([]);
/** What is wrong with the files of rules; undefined while nothing is. */
export const ruleTrouble = signal<RuleTrouble | undefined>(undefined);
/** What is wrong with the broker's record, as far as this browser can see. */
export const recordAlarm = signal<RecordAlarm | undefined>(undefined);
/** Whether everything is stopped or paused; undefined while nobody did either. */
export const halt = signal<Halt | undefined>(undefined);
/** Denials that the terminal overruled. They stay until somebody has seen them. */
export const overruled = signal<readonly Item[]>([]);
/** Why the request that somebody came for is not shown. */
export const arrivalTrouble = signal("");
/** Whether the requests that ended before this page was opened are among the recent. */
export const recentKnown = signal(false);
/** Requests identical to the one before the reader that get the same answer. */
export const together = signal<readonly Request[]>([]);
/** What a screen reader is told, politely. */
export const announcement = signal("");

const order = computed(() => preferences.value.order);
export const groups = computed(() => grouped(items.value.values(), order.value));
export const waiting = computed(() => [...items.value.values()].filter(waits).length);

const lingers = 8_000; // how long a card stays with its outcome
const lingersKept = 120_000; // one that somebody came to look at
const lastMinute = 60_000;
const maxRecent = 50;
const maxSessions = 200;
const maxLookups = 20; // of requests that vanished while we were away

let live: Live | undefined;
let pressed = false; // a finger or mouse button is down: no card may go away under it

/** Keeps the clock, and takes cards away when they have been over for a while. */
export function startQueue(): void {
  addEventListener("pointerdown", () => (pressed = true), true);
  for (const up of ["pointerup", "pointercancel", "blur"]) addEventListener(up, () => (pressed = false), true);
  setInterval(tick, 1000);
  addEventListener("pagehide", takeBackAll);
}

/** Shows the door: this browser is nobody any more, so nothing stays of what it was shown. */
export function turnedAway(why: string): void {
  live?.leave();
  standing.value = "unpaired";
  trouble.value = why;
  known.value = false;
  items.value = new Map();
  sessions.value = new Map();
  recent.value = overruled.value = [];
  selected.value = announcement.value = arrivalTrouble.value = "";
  ruleTrouble.value = halt.value = undefined;
  keepMessagesOf("");
  agents.value = [];
  starting.value = undefined;
  together.value = [];
  recentKnown.value = false;
  view.value = "inbox";
  warned.clear();
  takeBackAll();
}

export function connect(): void {
  trouble.value = "";
  standing.value = "in";
  if (live) return live.reopen();
  live = new Live({
    message: receive,
    link: (l, why) => {
      link.value = l;
      if (l === "live") {
        ruleTrouble.value = halt.value = undefined; // a new connection gets them again
        import("../device/record").then((m) => m.look({ get: (path) => authorized("GET", path), alarm: recordAlarm }), () => 0); // with the next connection, if not now
      }
      linkTrouble.value = why ?? "";
    },
    unpaired: turnedAway,
  });
  live.start();
}

/** Closes the socket, and returns what opens it again. */
export function leave(): () => void {
  live?.leave();
  return () => live?.reopen();
}

function receive(m: WSMessage): void {
  if (m.type === "halt") {
    halt.value = m.halt;
    return;
  }
  if (m.type === "messages") return heard(m.messages);
  if (m.type === "agents") {
    agents.value = m.agents;
    return;
  }
  if (m.type === "rules") {
    const before = ruleTrouble.value;
    ruleTrouble.value = m.allowing && m.problems.length === 0 ? undefined : m;
    if (ruleTrouble.value && !before) announcement.value = words.rules.news;
    return;
  }
  if (m.type === "sessions" || m.type === "snapshot") {
    const chosen = sessions.value.get(selected.value);
    const stand = new Map(m.type === "sessions" ? sessions.value : chosen ? [[chosen.sessionId, chosen]] : []);
    for (const s of m.sessions) stand.set(s.sessionId, s);
    for (const id of [...stand.keys()].slice(0, Math.max(0, stand.size - maxSessions))) if (id !== selected.value) stand.delete(id);
    sessions.value = stand;
  }
  if (m.type === "snapshot") {
    const before = items.value;
    const next = new Map<string, Item>();
    for (const r of m.requests) put(next, before, r);
    // What waited and is not in the snapshot was settled while we were away.
    const lost: Item[] = [];
    for (const [id, item] of before) {
      if (next.has(id)) continue;
      const gone = item.endedAt ? item : { ...item, lost: true, endedAt: Date.now() };
      next.set(id, gone);
      if (!item.endedAt) lost.push(gone);
    }
    items.value = next;
    if (known.value) announce(next, before);
    else void listEnded().then(endedBefore, () => undefined).then(() => (recentKnown.value = true));
    known.value = true;
    for (const item of lost.slice(0, maxLookups)) void lookUp(item.request.id);
  } else if (m.type === "changes") {
    const before = items.value;
    const next = new Map(before);
    for (const c of m.changes) put(next, before, c.request);
    items.value = next;
    announce(next, before);
  }
}

/** Puts news of a request where it belongs: among the cards, or only among the recent. */
function put(next: Map<string, Item>, before: ReadonlyMap<string, Item>, r: PermissionRequest): void {
  if (!isRequest(r)) return;
  const old = next.get(r.id) ?? before.get(r.id);
  const request = newer(old?.request, r);
  const ended = request.state === "ended";
  if (!old && ended) {
    remember({ request, endedAt: Date.now() });
    return;
  }
  const item: Item = { ...old, request, endedAt: ended ? old?.endedAt || Date.now() : 0 };
  delete item.lost;
  next.set(r.id, item);
  if (ended) remember(item);
}

/** Puts what ended before the page was opened behind what it saw end. */
function endedBefore(list: readonly PermissionRequest[]): void {
  const seen = new Set(recent.value.map((i) => i.request.id));
  const old = list.filter(isRequest).filter((r) => !seen.has(r.id) && r.settledAt);
  recent.value = [...recent.value, ...old.map((request) => ({ request, endedAt: Date.parse(request.settledAt!) - clockSkew }))].slice(0, maxRecent);
}

function remember(item: Item): void {
  const id = item.request.id;
  const at = recent.value.findIndex((i) => i.request.id === id);
  if (at >= 0) {
    const known = recent.value[at]!;
    const next = { ...known, ...item, endedAt: known.endedAt };
    recent.value = recent.value.map((i, n) => (n === at ? next : i));
  } else {
    recent.value = [item, ...recent.value].slice(0, maxRecent);
  }
  if (item.request.delivery === "overruled" && !overruled.value.some((i) => i.request.id === id)) {
    overruled.value = [item, ...overruled.value].slice(0, maxRecent);
    announcement.value = words.news.overruled(saysOf(item));
  }
}

function announce(next: ReadonlyMap<string, Item>, before: ReadonlyMap<string, Item>): void {
  const fresh = [...next.values()].filter((i) => !i.endedAt && !before.has(i.request.id));
  const last = fresh[fresh.length - 1];
  if (!last) return;
  const what = nameOf(last);
  announcement.value = fresh.length === 1 ? words.news.request(what) : words.news.requests(fresh.length, what);
}

function change(id: string, f: (item: Item) => Item): void {
  const old = items.value.get(id);
  if (!old) return;
  const item = f(old);
  items.value = new Map(items.value).set(id, item);
  if (item.endedAt && !item.lost) remember(item);
}

/** Notes what was done beside an answer, to be told where its outcome is. */
export function remark(id: string, text: string): void {
  change(id, (i) => ({ ...i, remark: text }));
}

/** Fetches the whole of a request, or what became of it. */
export async function lookUp(id: string): Promise<string> {
  try {
    const whole = await getRequest(id);
    if (!isRequest(whole)) return words.answer.nonsense;
    change(id, (old) => {
      const request = newer(old.request, { ...whole, ...(old.request.partial ? { partial: true } : {}) });
      const next: Item = { ...old, whole, request, endedAt: request.state === "ended" ? old.endedAt || Date.now() : old.endedAt };
      if (request.state === "ended") delete next.lost;
      return next;
    });
    return "";
  } catch (e) {
    return reason(e);
  }
}

/** Sends an answer. The card says nothing that the broker has not said first. */
export async function answer(r: Request, decision: Answer | "handback"): Promise<Result> {
  const name = decision === "handback" ? words.answer.terminal : words.answer[decision.behavior];
  const item = items.peek().get(r.id);
  const also = decision !== "handback" && isPlain(decision) ? together.peek().filter((o) => o.id !== r.id) : [];
  const what = also.length > 0 ? words.hold.several(name, also.length + 1) : words.hold.one(name, item ? saysOf(item) : visibleLine(r.toolName));
  const go = decision !== "handback" && wantsVerification(r, decision) ? Promise.resolve(true) : hold(what); // to refuse is to take it back
  const [result] = await Promise.all([send(r, decision, go), each(also, 6, (o) => send(o, decision, go))]);
  return result;
}

/** A yes or a no that means the same of an identical request. */
function isPlain({ updatedInput, updatedPermissions, interrupt }: Answer): boolean {
  return !updatedInput && !updatedPermissions && !interrupt;
}

/** Sends one answer; go says whether, when that is clear. */
export async function send(r: Request, decision: Answer | "handback", go: Promise<boolean>): Promise<Result> {
  const behavior: Behavior = decision === "handback" ? decision : decision.behavior;
  const asks = decision !== "handback" && wantsVerification(r, decision);
  const { id, ...seen } = left; // now: while an answer is held, another card comes up
  const before = Date.now();
  change(r.id, (i) => ({ ...i, attempt: { phase: "sending", behavior, at: before, held: preferences.peek().undo && !asks } }));
  if (!(await go)) {
    change(r.id, withoutAttempt);
    return "held back";
  }
  const still = items.peek().get(r.id);
  if (still?.endedAt) { // settled while the answer was held: there is nothing to send it to
    change(r.id, withoutAttempt);
    return "settled";
  }
  const at = Date.now();
  change(r.id, (i) => ({ ...i, attempt: { phase: "sending", behavior, at, asks } }));
  try {
    if (decision === "handback") {
      await handBack(r);
      change(r.id, (i) => ({ ...i, attempt: { phase: "taken", behavior, at, ms: Date.now() - at, delivered: false } }));
      return "taken";
    }
    const { delivery } = await decide(r.id, { ...decision, inputSha256: r.inputSha256, shown: JSON.stringify({ risk: r.risk, sentence: r.sentence, tool: r.toolName, cwd: r.cwd, ...(id === r.id && seen) }) }, asks);
    const ms = Date.now() - at;
    change(r.id, (i) => ({ ...i, attempt: { phase: "taken", behavior, at, ms, delivered: delivery === "delivered", decision } }));
    return "taken";
  } catch (e) {
    const fail = (why: string): Result => {
      change(r.id, (i) => ({ ...i, attempt: { phase: "failed", behavior, at, why } }));
      return "failed";
    };
    if (e instanceof Unpaired) {
      turnedAway(e.message);
      return "failed";
    }
    if (!(e instanceof ApiError)) return fail(sentence(e).replace(/\.?$/, "."));
    if (e.status === 409 && e.problem.outcome) {
      change(r.id, (i) => ({ ...withoutAttempt(i), request: settle(i.request, e.problem), endedAt: i.endedAt || Date.now() }));
      void lookUp(r.id); // the reason is not in the conflict
      return "settled";
    }
    if (e.status === 409) {
      void lookUp(r.id);
      return fail(words.answer.changed);
    }
    if (e.status === 404) {
      change(r.id, (i) => ({ ...withoutAttempt(i), lost: true, endedAt: i.endedAt || Date.now() }));
      return "settled";
    }
    // Nobody knows: it may stand in the record, or come to stand there. The card stays, and shows
    // what the record says as soon as that is heard.
    if (e.status === 0 || e.status >= 500) {
      void lookUp(r.id);
      return fail(words.answer.unknown);
    }
    return fail(words.answer.notRecorded(reason(e)));
  }
}

function withoutAttempt({ attempt: _, ...rest }: Item): Item {
  return rest;
}

/** Brings one request before the reader, also one that is over: a notification led here. Resolves
 * to what is wrong if it cannot be had. */
export async function bringUp(id: string): Promise<string> {
  view.value = "inbox";
  selected.value = arrivalTrouble.value = "";
  if (!items.peek().has(id)) {
    try {
      const whole = await getRequest(id);
      if (!isRequest(whole)) return words.answer.nonsense;
      const endedAt = whole.state === "ended" ? Date.now() : 0;
      if (!items.peek().has(id)) items.value = new Map(items.peek()).set(id, { request: whole, whole, endedAt, kept: true });
    } catch (e) {
      return e instanceof ApiError && e.status === 404 ? words.news.noRequest : sentence(e);
    }
  }
  change(id, (i) => (i.endedAt ? { ...i, kept: true } : i)); // one that waits goes when it is settled
  return "";
}

const warned = new Set<string>(); // requests of whose last minute was told

/** Tells once that a request has a minute left. */
function warn(): void {
  const soon: Item[] = [];
  for (const item of items.peek().values()) {
    const left = Date.parse(item.request.deadline) - now.peek();
    if (item.endedAt || left > lastMinute || left <= 0 || warned.has(item.request.id)) continue;
    warned.add(item.request.id);
    // A short wait was short from the start; its card says so.
    if (Date.parse(item.request.deadline) - Date.parse(item.request.createdAt) > 2 * lastMinute) soon.push(item);
  }
  for (const id of warned) if (!items.peek().has(id)) warned.delete(id);
  const first = soon[0];
  if (first) announcement.value = words.news.lastMinute(soon.length, nameOf(first));
}

function tick(): void {
  tickClock();
  warn();
  if (pressed) return;
  const gone = [...items.value].filter(([, i]) => i.endedAt && Date.now() - i.endedAt > (i.kept ? lingersKept : lingers));
  if (gone.length === 0) return;
  const next = new Map(items.value);
  for (const [id] of gone) next.delete(id);
  items.value = next;
}
