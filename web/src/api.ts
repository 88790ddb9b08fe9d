// The HTTP side: who we are, and every call the page makes. The bearer lives in this module's
// memory and nowhere else.
import { canKeepKeys, deviceName, forgetDevice, loadDevice, newKey, saveDevice, sign, type Device } from "./device";
import type { Decision, DecisionResult, PermissionRequest, Problem } from "./types.gen";

/** An answer that is no success. problem is what the server said, if it said anything. */
export class ApiError extends Error {
  constructor(
    readonly status: number, // 0: no answer at all
    readonly problem: Partial<Problem>,
  ) {
    super(problem.detail || problem.title || (status === 0 ? "no answer from the broker" : `the broker answered ${status}`));
  }
}

/** Nobody: this browser has no credential that the broker takes. */
export class Unpaired extends Error {}

interface Bearer {
  token: string;
  renewAt: number; // by Date.now()
}

let device: Device | undefined;
let bearer: Bearer | undefined;
let opening: Promise<Bearer> | undefined;

/** What the server's clock shows minus what ours does, in ms. */
export let clockSkew = 0;

const renewEarly = 60_000;
const timeout = 15_000;

/** Takes up the device of an earlier visit. False: there is none. */
export async function resume(): Promise<boolean> {
  device ??= canKeepKeys() ? await loadDevice() : undefined;
  if (!device) return bearer !== undefined;
  await credential();
  return true;
}

/** Trades a one-time code for a place among the broker's devices. */
export async function redeem(code: string): Promise<void> {
  const { publicKey, key } = await newKey();
  const name = deviceName(navigator.userAgent);
  // The code is spent by this call: nothing may go wrong between it and the saving.
  const made = await call<{ id: string; name: string; role: string }>("POST", "/v1/pair/redeem", {
    code,
    publicKey,
    name,
  });
  device = { id: made.id, name: made.name, role: made.role, key };
  bearer = undefined;
  await saveDevice(device);
}

/** Uses a token of `assent token create` until the page is closed. */
export function useToken(token: string): void {
  bearer = { token, renewAt: Infinity };
}

/** May this browser decide? Unknown (a token) counts as yes: the broker has the last word. */
export function mayDecide(): boolean {
  return !device || device.role === "approve" || device.role === "admin";
}

async function credential(): Promise<Bearer> {
  if (bearer && Date.now() < bearer.renewAt) return bearer;
  opening ??= openSession().finally(() => (opening = undefined));
  return opening;
}

async function openSession(): Promise<Bearer> {
  if (!device) throw new Unpaired("This browser is not paired.");
  try {
    const deviceId = device.id;
    const { nonce } = await call<{ nonce: string }>("POST", "/v1/auth/challenge", { deviceId });
    const signature = await sign(device.key, `assent session v1\n${deviceId}\n${nonce}`);
    const opened = await call<{ token: string; expiresAt: string }>("POST", "/v1/auth/session", {
      deviceId,
      nonce,
      signature,
    });
    const life = Date.parse(opened.expiresAt) - (Date.now() + clockSkew);
    bearer = { token: opened.token, renewAt: Date.now() + Math.max(life - renewEarly, life / 2) };
    return bearer;
  } catch (e) {
    if (e instanceof ApiError && (e.status === 401 || e.status === 404)) {
      device = undefined;
      await forgetDevice();
      throw new Unpaired("The broker no longer knows this browser: it was removed there, or the broker's state is new.");
    }
    throw e;
  }
}

async function authorized<T>(method: string, path: string, body?: unknown): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const { token } = await credential();
    try {
      return await call<T>(method, path, body, token);
    } catch (e) {
      // A restarted broker knows no bearer of before; a device opens a new session, once.
      if (!(e instanceof ApiError) || e.status !== 401) throw e;
      bearer = undefined;
      if (!device) throw new Unpaired("The broker does not take this token: it is wrong, revoked or expired.");
      if (attempt === 2) throw e;
    }
  }
}

export function getRequest(id: string): Promise<PermissionRequest> {
  return authorized("GET", `/v1/requests/${encodeURIComponent(id)}`);
}

export async function wsTicket(): Promise<string> {
  return (await authorized<{ ticket: string }>("POST", "/v1/ws/ticket", {})).ticket;
}

export function decide(id: string, decision: Decision): Promise<DecisionResult> {
  return signed(id, decision).then((d) => authorized("POST", `/v1/requests/${encodeURIComponent(id)}/decision`, d));
}

/** The text a device signs for a decision: what it decided about, and all that it says. */
export function decisionText(id: string, d: Decision, digests: { message: string; updatedInput: string; updatedPermissions: string }): string {
  return [
    "assent decision v1",
    id,
    d.inputSha256,
    d.behavior,
    d.interrupt ? "interrupt" : "",
    digests.message,
    digests.updatedInput,
    digests.updatedPermissions,
  ].join("\n");
}

async function signed(id: string, d: Decision): Promise<Decision> {
  if (!device) return d;
  const digest = async (s: string | undefined) => {
    if (s === undefined) return "";
    const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(s)));
    return Array.from(sum, (b) => b.toString(16).padStart(2, "0")).join("");
  };
  const json = (v: unknown) => (v === undefined ? undefined : JSON.stringify(v));
  const text = decisionText(id, d, {
    message: await digest(d.message),
    updatedInput: await digest(json(d.updatedInput)),
    updatedPermissions: await digest(json(d.updatedPermissions)),
  });
  return { ...d, signature: await sign(device.key, text) };
}

async function call<T>(method: string, path: string, body?: unknown, token?: string): Promise<T> {
  const headers: Record<string, string> = { accept: "application/json" };
  if (token) headers["authorization"] = `Bearer ${token}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  let response: Response;
  let text: string;
  const sent = Date.now();
  try {
    response = await fetch(path, {
      method,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
      credentials: "omit",
      cache: "no-store",
      redirect: "error",
      signal: AbortSignal.timeout(timeout),
    });
    text = await response.text();
  } catch {
    throw new ApiError(0, {});
  }
  noteClock(response.headers.get("date"), sent, Date.now());
  if (!response.ok) throw new ApiError(response.status, parse(text) as Partial<Problem>);
  return parse(text) as T;
}

function parse(text: string): unknown {
  try {
    return text === "" ? {} : JSON.parse(text);
  } catch {
    return {};
  }
}

function noteClock(date: string | null, sent: number, received: number) {
  const server = date ? Date.parse(date) : NaN;
  if (Number.isNaN(server)) return;
  // The header is cut to the second; below two of them a difference means nothing.
  const skew = server + 500 - (sent + received) / 2;
  clockSkew = Math.abs(skew) < 2000 ? 0 : skew;
}
