// The live side: one WebSocket, reopened whenever it is lost, resumed where it left off. The
// server sends a fresh snapshot when it cannot resume.
import { Unpaired } from "../device/session";
import { wsTicket } from "./api";
import { ApiError, reason } from "./http";
import type { WSMessage } from "./types.gen";

export type Link = "connecting" | "live" | "waiting" | "offline";

export interface Handlers {
  message(m: WSMessage): void;
  /** why says what the broker had against it, where it answered. */
  link(l: Link, why?: string): void;
  unpaired(why: string): void;
}

const known = /^(snapshot|changes|sessions|rules|halt|messages|agents)$/;
const revoked = 4401; // the close code of a credential that was revoked or ran out
const firstDelay = 500;
const longestDelay = 30_000;
// A socket that a sleeping machine lost looks open until something is sent. The server pings,
// which pages cannot see, so after a sleep the page reopens it instead of guessing; that costs
// little, for it resumes. A sleep shows as a timer that is late by far more than a busy page
// explains, or than the minute to which browsers slow the timers of hidden ones.
const step = 10_000;
const late = 20_000;
const lateWhileHidden = 180_000;

export class Live {
  private socket: WebSocket | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private failures = 0;
  private generation = 0; // events of sockets of earlier generations are ignored
  private away = false; // told to leave; only reopen ends that
  private epoch = "";
  private seq = 0;

  constructor(private readonly on: Handlers) {}

  start(): void {
    const again = () => this.away || this.reopen();
    addEventListener("online", again);
    addEventListener("pageshow", (e) => e.persisted && again());
    let last = Date.now();
    document.addEventListener("visibilitychange", () => {
      const gap = Date.now() - last;
      last = Date.now();
      if (!document.hidden && (gap > late || this.socket?.readyState !== WebSocket.OPEN)) again();
    });
    setInterval(() => {
      const gap = Date.now() - last;
      last = Date.now();
      if (gap > (document.hidden ? lateWhileHidden : late)) again();
    }, step);
    void this.open();
  }

  /** Drops what there is and connects at once. */
  reopen(): void {
    clearTimeout(this.timer);
    this.failures = 0;
    this.away = false;
    void this.open();
  }

  /** Closes, and forgets where it was: what was shown is gone, so the next message has to be a
   * snapshot. */
  leave(): void {
    clearTimeout(this.timer);
    this.generation++;
    this.socket?.close();
    this.socket = undefined;
    this.epoch = "";
    this.away = true;
  }

  private async open(): Promise<void> {
    const generation = ++this.generation;
    this.socket?.close();
    this.on.link("connecting");
    try {
      const ticket = await wsTicket();
      if (generation !== this.generation) return;
      const query = new URLSearchParams({ ticket });
      if (this.epoch) {
        query.set("epoch", this.epoch);
        query.set("after", String(this.seq));
      }
      const url = new URL(`/v1/ws?${query}`, location.href);
      url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
      const socket = (this.socket = new WebSocket(url));
      let opened = Infinity;
      socket.onopen = () => {
        if (generation !== this.generation) return;
        opened = performance.now();
        this.failures = 0;
        this.on.link("live");
      };
      socket.onmessage = (e) => {
        if (generation === this.generation) this.receive(String(e.data));
      };
      socket.onclose = (e) => {
        if (generation !== this.generation) return;
        // What was shown must go at once; whether it must, the broker says when asked.
        if (e.code === revoked && performance.now() - opened > 1000) void this.open();
        else this.retry();
      };
    } catch (e) {
      if (generation !== this.generation) return;
      if (e instanceof Unpaired) this.on.unpaired(e.message);
      else this.retry(e instanceof ApiError && e.status !== 0 ? reason(e) : undefined);
    }
  }

  private receive(data: string): void {
    const m = JSON.parse(data) as WSMessage;
    if (!known.test(m.type)) return; // of a later version
    this.on.message(m);
    if (m.type !== "snapshot" && m.type !== "changes") return; // how they stand, not what happened
    this.epoch = m.epoch;
    this.seq = m.seq;
  }

  private retry(why?: string): void {
    this.socket = undefined;
    const delay = backoff(this.failures++, Math.random());
    this.on.link(navigator.onLine ? "waiting" : "offline", why);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.open(), delay);
  }
}

/** Doubles from half a second to half a minute; random in its upper half, so that many pages
 * do not come back in step. */
export function backoff(failures: number, random: number): number {
  const full = Math.min(longestDelay, firstDelay * 2 ** Math.min(failures, 10));
  return full / 2 + (full / 2) * random;
}
