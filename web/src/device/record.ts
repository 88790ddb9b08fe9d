// Whether the broker's record is still the one that this browser has seen. The newest checkpoint is kept here, in
// localStorage; where the broker has an older or another record one day, that is said until somebody taps it away.
// A script of its own that comes late: it imports nothing that the page has, so as not to split that up.
import type { ApiError } from "../broker/http";
import type { AuditCheckpoint } from "../broker/types.gen";
import { checkNote } from "./note";
import { compare, headOf, type Head } from "./tree";

type Difference = "older" | "changed" | "other";

/** What is wrong with the broker's record: it is not what this browser has seen, until a person accepts that; or the
 * broker itself says why it cannot prove it. */
export type RecordAlarm = { what: Difference; seen: Head | undefined; now: Head | undefined; note: string; accept(): void } | { what: "stopped"; why: string } | { what: "late"; why: string } | { what: "unsigned"; why: string };

/** What the page lends: a call of the API that throws ApiError, and where the alarm is shown. */
export interface Page {
  get(path: string): Promise<AuditCheckpoint>;
  alarm: { value: RecordAlarm | undefined };
}

/** What is kept: checkpoints, as they were signed. */
interface Kept {
  seen?: string; // the newest
  keys?: string[]; // of brokers, as they wrote them first: what one of these signs is verified with it, whatever the broker says later
  alarm?: { what: Difference; now: string };
}

const storageKey = "assent.record";
const every = 5 * 60_000; // ms: what came after the last look is what a broker could lose unnoticed

let kept: Kept = {}; // of a browser that keeps nothing

function load(): Kept {
  try {
    kept = (JSON.parse(localStorage.getItem(storageKey) ?? "null") as Kept | null) ?? kept;
  } catch {
    // it keeps nothing, or not what we wrote
  }
  return kept;
}

function save(k: Kept): void {
  const { keys } = load();
  kept = keys ? { keys, ...k } : k;
  try {
    localStorage.setItem(storageKey, JSON.stringify(kept));
  } catch {
    // a browser that keeps nothing
  }
}

let looking = false;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Asks the broker for its record's checkpoint, and compares it with what was seen: now, and again and again. */
export async function look(page: Page): Promise<void> {
  if (looking) return;
  looking = true;
  clearTimeout(timer);
  try {
    page.alarm.value = alarmOf(page, load()) ?? (await found(page));
  } catch {
    // no answer says nothing
  } finally {
    looking = false;
    timer = setTimeout(() => void look(page), every);
  }
}

function alarmOf(page: Page, { seen = "", alarm }: Kept): RecordAlarm | undefined {
  return alarm && { what: alarm.what, seen: headOf(seen), now: headOf(alarm.now), note: seen, accept: () => accept(page) };
}

/** Goes on with the record that the broker has now: a person knows why it is another one. */
function accept(page: Page): void {
  const { alarm } = load();
  if (alarm) save({ seen: alarm.now });
  page.alarm.value = undefined;
  void look(page);
}

async function found(page: Page): Promise<RecordAlarm | undefined> {
  const { seen: text = "" } = load();
  const seen = headOf(text);
  let got: AuditCheckpoint;
  try {
    got = await checkpoint(page, seen);
  } catch (e) {
    // A broker that has lost the tree cannot be compared any more, and must not be silent about it.
    const { fromBroker, problem, status, message } = e as ApiError;
    if (seen && fromBroker && (problem.reason === "tree" || status === 500)) return { what: "stopped", why: message };
    throw e;
  }
  const now = headOf(got.note);
  if (!now) return { what: "stopped", why: "" };
  if (!(await signed(got))) return { what: "unsigned", why: "" };
  const what = seen ? await compare(seen, now, got.proof ?? []) : "continued";
  if ((load().seen ?? "") !== text) return alarmOf(page, load()); // another tab was first
  if (what === "continued") {
    if (!seen || now.size > seen.size) save({ seen: got.note });
    const { stopped, late } = got;
    return stopped ? { what: "stopped", why: stopped } : late ? { what: "late", why: late } : undefined;
  }
  save({ seen: text, alarm: { what, now: got.note } });
  return alarmOf(page, load());
}

const mostKeys = 16; // brokers that share a record

/** Whether a key signed the checkpoint that this browser knows, or that the broker names. One of another broker is left to
 * audit verify. The keys of checkpoints that fit are kept. */
async function signed({ note, key }: AuditCheckpoint): Promise<boolean> {
  const { keys = [] } = load();
  const checked = await checkNote(note, [...keys, key]);
  if (checked === "good" && !keys.includes(key) && keys.length < mostKeys) save({ ...load(), keys: [...keys, key] });
  return checked !== "bad";
}

const path = "/v1/audit/checkpoint";

/** The newest checkpoint, with the proof that it continues one that was seen if it is no older. */
async function checkpoint({ get }: Page, seen: Head | undefined): Promise<AuditCheckpoint> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await get(seen?.size ? `${path}?from=${seen.size}` : path);
    } catch (e) {
      if (!seen || attempt === 3 || (e as ApiError).problem?.reason !== "older") throw e;
    }
    const older = await get(path);
    if ((headOf(older.note)?.size ?? 0) < seen.size) return older; // else it has grown meanwhile, and there is a proof
  }
}
