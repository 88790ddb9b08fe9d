// The broker's time. A phone's own clock may be an hour off: what is shown of ages and
// deadlines goes by the Date that the broker's answers carry.
import { signal } from "@preact/signals";

/** What the broker's clock shows minus what ours does, in ms. */
export let clockSkew = 0;

/** The broker's time, in ms, once a second. */
export const now = signal(Date.now());

export function tickClock(): void {
  now.value = Date.now() + clockSkew;
}

/** Learns from an answer: its Date header, and when it was asked for and arrived. */
export function noteClock(date: string | null, sent: number, received: number): void {
  const server = date ? Date.parse(date) : NaN;
  if (Number.isNaN(server)) return;
  // The header is cut to the second; below two of them a difference means nothing.
  const skew = server + 500 - (sent + received) / 2;
  const before = clockSkew;
  clockSkew = Math.abs(skew) < 2000 ? 0 : skew;
  if (Math.abs(clockSkew - before) > 2000) tickClock(); // nothing is shown by the wrong clock first
}
