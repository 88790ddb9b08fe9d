// The feed that the page shows, live: one WebSocket for the session that is selected, reopened
// whenever it is lost, resumed behind the last event that is here.
import { effect, signal } from "@preact/signals";
import { getFeed, getSession, search, wsTicket } from "../broker/api";
import { ApiError, reason } from "../broker/http";
import { backoff } from "../broker/socket";
import type { Found, WSMessage } from "../broker/types.gen";
import { Unpaired } from "../device/session";
import { link, selected, sessions, standing, turnedAway } from "../queue/state";
import { append, prepend, type Line, type Story } from "./story";

export const story = signal<Story>();
/** Why there is no feed, or no more of it: a sentence, "" when all is well. */
export const feedTrouble = signal("");
export const fetchingEarlier = signal(false);

const firstPage = 150; // events that are shown at first
const earlierPage = 150;

let socket: WebSocket | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;
let generation = 0; // what belongs to an earlier one is ignored
let failures = 0;

/** Follows the selection, and the main connection: when that came back, so does this one. */
export function startFeed(): void {
  effect(() => {
    const id = standing.value === "in" ? selected.value : "";
    if (standing.value !== "in") void find(""); // nothing stays of what was shown
    if (story.peek()?.sessionId !== id) void show(id);
  });
  let was = link.peek();
  effect(() => {
    const now = link.value;
    if (now === "live" && was !== "live" && story.peek()) void listen(generation);
    was = now;
  });
}

async function show(id: string): Promise<void> {
  const mine = ++generation;
  clearTimeout(timer);
  socket?.close();
  socket = undefined;
  failures = 0;
  feedTrouble.value = "";
  fetchingEarlier.value = false;
  story.value = id ? { sessionId: id, lines: [], earlier: false } : undefined;
  if (!id) return;
  try {
    const info = await getSession(id);
    if (mine !== generation) return;
    const after = Math.max(0, (info.lastPos ?? 0) - firstPage);
    if (!sessions.peek().has(id)) sessions.value = new Map(sessions.value).set(id, info);
    const lines = await getFeed(id, after, firstPage);
    if (mine !== generation) return;
    story.value = { sessionId: id, lines, earlier: after > 0 };
  } catch (e) {
    if (mine !== generation || gone(e)) return;
    if (!(e instanceof ApiError && e.status === 404)) feedTrouble.value = reason(e); // else it begins just now
  }
  void listen(mine);
}

function gone(e: unknown): boolean {
  if (e instanceof Unpaired) turnedAway(e.message);
  return e instanceof Unpaired;
}

async function listen(mine: number): Promise<void> {
  clearTimeout(timer);
  socket?.close();
  socket = undefined;
  const s = story.peek();
  if (mine !== generation || !s) return;
  try {
    const ticket = await wsTicket();
    const now = story.peek();
    if (mine !== generation || !now || socket) return;
    const last = now.lines[now.lines.length - 1];
    const cursor = { after: String(last?.pos ?? 0), last: last?.event_id ?? "" };
    const url = new URL(`/v1/ws?${new URLSearchParams({ ticket, feed: s.sessionId, ...cursor })}`, location.href);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    const opened = (socket = new WebSocket(url));
    opened.onopen = () => {
      if (mine !== generation) return;
      failures = 0;
      feedTrouble.value = "";
    };
    opened.onmessage = (e) => {
      if (mine === generation && socket === opened) receive(JSON.parse(String(e.data)) as WSMessage);
    };
    opened.onclose = () => {
      if (socket === opened) retry(mine);
    };
  } catch (e) {
    if (mine !== generation || gone(e)) return;
    if (e instanceof ApiError && e.status !== 0) feedTrouble.value = reason(e);
    retry(mine);
  }
}

function retry(mine: number): void {
  if (mine !== generation) return;
  socket = undefined;
  clearTimeout(timer);
  timer = setTimeout(() => void listen(mine), backoff(failures++, Math.random()));
}

function receive(m: WSMessage): void {
  const s = story.peek();
  if (m.type !== "feed" || !s || m.sessionId !== s.sessionId) return;
  const from = m.reset ? { ...s, lines: [], earlier: false } : s;
  story.value = append(from, m.events as Line[]);
}

/** Fetches the page before what is here. */
export async function earlier(): Promise<void> {
  const s = story.peek();
  const first = s?.lines[0]?.pos;
  if (!s || !first || fetchingEarlier.peek()) return;
  const mine = generation;
  fetchingEarlier.value = true;
  try {
    const after = Math.max(0, first - 1 - earlierPage);
    const lines = await getFeed(s.sessionId, after, earlierPage);
    const now = story.peek();
    if (mine === generation && now) story.value = prepend(now, lines, after > 0 && lines[0]?.pos === after + 1);
  } catch (e) {
    if (mine === generation && !gone(e)) feedTrouble.value = reason(e);
  } finally {
    if (mine === generation) fetchingEarlier.value = false;
  }
}

/** What was found, undefined while nobody searches. */
export const found = signal<readonly Found[]>();
export const searchTrouble = signal("");

let asked = 0;

export async function find(words: string): Promise<void> {
  const mine = ++asked;
  searchTrouble.value = "";
  if (words.trim() === "") {
    found.value = undefined;
    return;
  }
  try {
    const list = await search(words, 50);
    if (mine === asked) found.value = list;
  } catch (e) {
    if (mine !== asked || gone(e)) return;
    found.value = undefined;
    searchTrouble.value = reason(e);
  }
}
