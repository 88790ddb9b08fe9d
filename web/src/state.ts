// What the page shows, as signals, and everything that changes it.
import { computed, signal } from "@preact/signals";
import { decide, getRequest } from "./api";
import { tickClock } from "./clock";
import { ApiError, reason, sentence } from "./http";
import { grouped, isRequest, newer, sessionName, settle, shownOf, type Item, type Request } from "./model";
import { Unpaired } from "./session";
import { Live, type Link } from "./socket";
import type { Decision, PermissionRequest, SessionInfo, WSMessage } from "./types.gen";
import { visibleLine } from "./visible";

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
/** Denials that the terminal overruled. They stay until somebody has seen them. */
export const overruled = signal<readonly Item[]>([]);
/** What a screen reader is told, politely. */
export const announcement = signal("");

export const groups = computed(() => grouped(items.value.values()));
export const waiting = computed(() => groups.value.reduce((n, g) => n + g.waiting, 0));

const lingers = 8_000; // how long a card stays with its outcome
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
  selected.value = announcement.value = "";
  ruleTrouble.value = undefined;
}

export function connect(): void {
  trouble.value = "";
  standing.value = "in";
  if (live) return live.reopen();
  live = new Live({
    message: receive,
    link: (l, why) => {
      link.value = l;
      if (l === "live") ruleTrouble.value = undefined; // a new connection is told of it again
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
  if (m.type === "rules") {
    const before = ruleTrouble.value;
    ruleTrouble.value = m.allowing && m.problems.length === 0 ? undefined : m;
    if (ruleTrouble.value && !before) announcement.value = "A file of rules cannot be used.";
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
    announcement.value = `Overruled in the terminal: ${shownOf(item)?.verb ?? visibleLine(item.request.toolName)}`;
  }
}

function announce(next: ReadonlyMap<string, Item>, before: ReadonlyMap<string, Item>): void {
  const fresh = [...next.values()].filter((i) => !i.endedAt && !before.has(i.request.id));
  const last = fresh[fresh.length - 1];
  if (!last) return;
  const what = `${shownOf(last)?.verb ?? visibleLine(last.request.toolName)}, ${visibleLine(sessionName(last.request))}`;
  announcement.value = fresh.length === 1 ? `New request: ${what}` : `${fresh.length} new requests, the last: ${what}`;
}

function change(id: string, f: (item: Item) => Item): void {
  const old = items.value.get(id);
  if (!old) return;
  const item = f(old);
  items.value = new Map(items.value).set(id, item);
  if (item.endedAt && !item.lost) remember(item);
}

/** Fetches the whole of a request, or what became of it. */
export async function lookUp(id: string): Promise<string> {
  try {
    const whole = await getRequest(id);
    if (!isRequest(whole)) return "the broker's answer makes no sense";
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
export async function answer(r: Request, decision: Omit<Decision, "inputSha256">): Promise<void> {
  const { behavior } = decision;
  const at = Date.now();
  change(r.id, (i) => ({ ...i, attempt: { phase: "sending", behavior, at } }));
  try {
    const { delivery } = await decide(r.id, { ...decision, inputSha256: r.inputSha256 });
    const ms = Date.now() - at;
    change(r.id, (i) => ({ ...i, attempt: { phase: "taken", behavior, at, ms, delivered: delivery === "delivered" } }));
  } catch (e) {
    const fail = (why: string) => change(r.id, (i) => ({ ...i, attempt: { phase: "failed", behavior, at, why } }));
    if (!(e instanceof ApiError)) return e instanceof Unpaired ? turnedAway(e.message) : fail(sentence(e));
    if (e.status === 409 && e.problem.outcome) {
      change(r.id, (i) => {
        const { attempt: _, ...rest } = i;
        return { ...rest, request: settle(i.request, e.problem), endedAt: i.endedAt || Date.now() };
      });
      void lookUp(r.id); // the reason is not in the conflict
    } else if (e.status === 409) {
      fail("This is not the request you saw: its input differs. Nothing was sent to the agent; look again.");
      void lookUp(r.id);
    } else if (e.status === 404) {
      change(r.id, (i) => ({ ...i, lost: true, endedAt: i.endedAt || Date.now() }));
    } else if (e.status === 0) {
      fail("No answer from the broker. Whether your answer was recorded is not known; you may send it again.");
    } else {
      fail(`Not recorded: ${reason(e)}.`);
    }
  }
}

function tick(): void {
  tickClock();
  if (pressed) return;
  const gone = [...items.value].filter(([, i]) => i.endedAt && Date.now() - i.endedAt > lingers);
  if (gone.length === 0) return;
  const next = new Map(items.value);
  for (const [id] of gone) next.delete(id);
  items.value = next;
}
