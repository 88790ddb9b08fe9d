// How this browser gets in: as the device of an earlier visit, with the code of a link, with a
// token, or by a code that this page shows; and how it gets out again.
import { signal } from "@preact/signals";
import { pollPairing, redeem, revokeDevice, startPairing } from "../broker/api";
import { now } from "../broker/clock";
import { ApiError, reason, sentence } from "../broker/http";
import { arrivalTrouble, connect, keepsNothing, leave, standing, startQueue, trouble, turnedAway } from "../queue/state";
import { visibleLine } from "../text/visible";
import { words } from "../text/words";
import { canSign, forgetPending, loadPending, newKey, savePending, type NewKey, type OwnDevice, type Pending } from "./device";
import { Wait } from "./pairing";
import { adopt, earlier, forget, ownDevice, resume, Unpaired, useToken } from "./session";

/** The pairing under way, whose code the page shows. */
export const pending = signal<Pending>();
/** The broker does not answer whether that code was typed. */
export const silent = signal(false);
/** The last code came to nothing: the next one is a new one. */
export const again = signal(false);

const stale = 600_000; // ms; what expired longer ago is no news

let wait: Wait<OwnDevice> | undefined;
let spare: NewKey | undefined; // of a pairing of this page that came to nothing

export async function start(): Promise<void> {
  startQueue();
  const code = new URLSearchParams(location.hash.slice(1)).get("pair");
  if (location.hash) history.replaceState(null, "", location.pathname + location.search);
  addEventListener("hashchange", () => location.hash.startsWith("#pair=") && location.reload());
  if (code) return enter(code);
  try {
    if (await resume()) return connect();
    const kept = canSign() ? await loadPending() : undefined;
    if (kept) watch(kept, "busy"); // the code is shown when the broker has not said no to it
    else standing.value = "unpaired";
  } catch (e) {
    if (e instanceof Unpaired) turnedAway(e.message);
    else if (ownDevice()) connect(); // the broker is away: keep trying, and say so
    else {
      keepsNothing.value = true;
      standing.value = "unpaired";
    }
  }
}

/** Lets somebody in with a pairing code, a pairing link or a token. */
export async function enter(text: string): Promise<void> {
  text = text.trim();
  text = /#pair=([^&\s]+)/.exec(text)?.[1] ?? text;
  trouble.value = "";
  if (text.startsWith("assent_")) {
    useToken(text);
    return connect();
  }
  if (!canSign()) {
    standing.value = "unpaired";
    return;
  }
  standing.value = "busy";
  try {
    await settleIn(await redeem(decodeURIComponent(text)));
  } catch (e) {
    // A link that was tapped twice is spent; a browser that it had paired is paired still.
    if (await resume().catch(() => false)) {
      connect();
      const own = ownDevice();
      if (own) arrivalTrouble.value = words.door.stays(visibleLine(own.name), own.role);
      return;
    }
    if (e instanceof ApiError && e.status === 403 && e.fromBroker) {
      const { reason } = e.problem;
      turnedAway(reason === "used" ? words.door.used : reason === "expired" ? words.door.late : words.door.spent);
    } else turnedAway(notDone(e));
  }
}

/** Asks the broker for a code, and shows it until somebody has typed it on the machine. */
export async function pairHere(): Promise<void> {
  trouble.value = "";
  standing.value = "busy";
  try {
    const other = await loadPending().catch(() => undefined); // of another tab
    if (other && Date.parse(other.expiresAt) > now.value) return watch(other);
    spare ??= await newKey();
    const fresh = await startPairing(spare);
    await savePending(fresh).catch(() => (keepsNothing.value = true));
    watch(fresh);
  } catch (e) {
    turnedAway(notDone(e));
  }
}

function watch(p: Pending, shown: "waiting" | "busy" = "waiting"): void {
  wait?.stop();
  pending.value = p;
  silent.value = false;
  standing.value = shown;
  wait = new Wait(() => pollPairing(p), {
    paired: (made) => void settleIn(made),
    over: () => void over(p),
    silent: (yes) => {
      silent.value = yes;
      standing.value = "waiting";
    },
  });
  wait.start();
}

async function over(p: Pending): Promise<void> {
  await endWait();
  if (await resume().catch(() => false)) return connect(); // another tab was let in
  const late = now.value - Date.parse(p.expiresAt);
  again.value = late < stale;
  if (late >= stale) turnedAway("");
  else if (late > -1000) turnedAway(words.door.expired(p.code));
  else turnedAway(words.door.refused(p.code));
}

/** Back to the door. */
export async function cancelPairing(): Promise<void> {
  await endWait();
  standing.value = "unpaired";
}

async function endWait(): Promise<void> {
  wait?.stop();
  wait = undefined;
  const p = pending.value;
  pending.value = undefined;
  if (p) await forgetPending(p.secret).catch(() => undefined); // a browser that keeps nothing
}

/** Is that device from now on. */
async function settleIn(made: OwnDevice): Promise<void> {
  const before = await earlier();
  keepsNothing.value = !(await adopt(made));
  wait?.stop();
  wait = spare = pending.value = undefined;
  again.value = false;
  connect();
  if (before) arrivalTrouble.value = words.door.anew(visibleLine(made.name), made.role, visibleLine(before.name));
}

/** Takes this browser off the broker's list and its key out of the browser. Resolves to what is
 * wrong if that could not be done; nothing has changed then. */
export async function forgetThisBrowser(): Promise<string> {
  const device = ownDevice();
  if (!device) return words.door.usesToken;
  const back = leave(); // before the broker closes the socket, which would be news
  try {
    await revokeDevice(device.id).catch((e: unknown) => {
      if (!(e instanceof ApiError && e.status === 404 && e.fromBroker)) throw e; // gone already
    });
  } catch (e) {
    if (e instanceof Unpaired) turnedAway(e.message);
    else back();
    return reason(e);
  }
  await forget();
  turnedAway(words.door.forgotten);
  return "";
}

function notDone(e: unknown): string {
  return e instanceof ApiError && e.status === 0 ? words.door.noAnswer : sentence(e);
}
