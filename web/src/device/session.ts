// Who this browser is to the broker: a device with a key, or the bearer of a token. The bearer
// lives in this module's memory and nowhere else.
import { clockSkew } from "../broker/clock";
import { ApiError, call } from "../broker/http";
import type { VerificationState } from "../broker/types.gen";
import { words } from "../text/words";
import { canSign, forgetDevice, loadDevice, saveDevice, sign, type OwnDevice } from "./device";

/** Nobody: this browser has no credential that the broker takes. */
export class Unpaired extends Error {}

interface Bearer {
  token: string;
  renewAt: number; // by Date.now()
}

let device: OwnDevice | undefined;
let bearer: Bearer | undefined;
let verification: VerificationState = {};
let opening: Promise<Bearer> | undefined;

const renewEarly = 60_000;

/** Whether this device verifies its owner, by the broker's last word. */
export function verificationNow(): VerificationState {
  return verification;
}

export function noteVerification(v: VerificationState): VerificationState {
  return (verification = v);
}

/** The device that this browser is; undefined: none, or it uses a token. */
export function ownDevice(): OwnDevice | undefined {
  return device;
}

/** Takes up the device of an earlier visit. False: there is none. */
export async function resume(): Promise<boolean> {
  device ??= canSign() ? await stored() : undefined;
  if (!device) return bearer !== undefined;
  await credential();
  return true;
}

/** The device that this browser is, or was when the page was last open. */
export async function earlier(): Promise<OwnDevice | undefined> {
  return device ?? stored();
}

/** Becomes a device that was just paired. False: the browser refuses to keep its key, which
 * then lasts until the page is closed. */
export async function adopt(made: OwnDevice): Promise<boolean> {
  device = made;
  bearer = undefined;
  try {
    await saveDevice(made);
    return true;
  } catch {
    return false;
  }
}

/** Uses a token of `assent token create` until the page is closed. */
export function useToken(token: string): void {
  device = undefined;
  bearer = { token, renewAt: Infinity };
}

/** Is nobody any more, and removes the key. */
export async function forget(): Promise<void> {
  const id = device?.id;
  device = undefined;
  bearer = undefined;
  if (id) await forgetDevice(id).catch(() => undefined); // a browser that keeps nothing
}

/** May this browser decide? Unknown (a token) counts as yes: the broker has the last word. */
export function mayDecide(): boolean {
  return device?.role !== "view";
}

/** Calls the API as who we are. Throws Unpaired, ApiError. */
export async function authorized<T>(method: string, path: string, body?: unknown): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const { token } = await credential();
    try {
      return await call<T>(method, path, body, token);
    } catch (e) {
      // A restarted broker knows no bearer of before; a device opens a new session, once. 429: it heard
      // many such.
      if (!(e instanceof ApiError) || (e.status !== 401 && !(device && e.status === 429))) throw e;
      bearer = undefined;
      if (!device) throw new Unpaired(words.door.badToken);
      if (attempt === 2) throw e;
    }
  }
}

async function credential(): Promise<Bearer> {
  if (bearer && Date.now() < bearer.renewAt) return bearer;
  opening ??= openSession().finally(() => (opening = undefined));
  return opening;
}

async function openSession(): Promise<Bearer> {
  if (!device) throw new Unpaired(words.door.unpaired);
  const { id, key } = device;
  try {
    const { nonce } = await call<{ nonce: string }>("POST", "/v1/auth/challenge", { deviceId: id });
    const signature = await sign(key, `assent session v1\n${id}\n${nonce}`);
    const opened = await call<{ token: string; expiresAt: string; verification: VerificationState }>("POST", "/v1/auth/session", { deviceId: id, nonce, signature });
    const life = Date.parse(opened.expiresAt) - (Date.now() + clockSkew);
    verification = opened.verification;
    bearer = { token: opened.token, renewAt: Date.now() + Math.max(life - renewEarly, life / 2) };
    return bearer;
  } catch (e) {
    if (!(e instanceof ApiError) || !e.fromBroker || (e.status !== 401 && e.status !== 404)) throw e;
    await forget();
    const other = await stored(); // another tab may have paired this browser anew
    if (other && other.id !== id) {
      device = other;
      return openSession();
    }
    throw new Unpaired(words.door.noLongerPaired);
  }
}

function stored(): Promise<OwnDevice | undefined> {
  return loadDevice().catch(() => undefined);
}
