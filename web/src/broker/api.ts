// Every call the page makes.
import { deviceName, newKey, sign, type NewKey, type OwnDevice, type Pending } from "../device/device";
import { authorized, ownDevice, verificationNow } from "../device/session";
import type { Line } from "../story/story";
import { digest } from "./digest";
import { ApiError, call } from "./http";
import type { Decision, DecisionResult, Device, Found, PairingStart, PermissionRequest, Proposals, Rules, Saved, SessionInfo, Settled, Stats, Suggestions } from "./types.gen";

/** Trades a one-time code for a place among the broker's devices. */
export async function redeem(code: string): Promise<OwnDevice> {
  const { publicKey, key } = await newKey();
  return own(await call<Device>("POST", "/v1/pair/redeem", { code, publicKey, name: ownName() }), key);
}

/** Begins a pairing here: the broker gives a code for somebody to type on its machine. A second
 * start with the same key takes the place of the first. */
export async function startPairing({ publicKey, key }: NewKey): Promise<Pending> {
  const { code, secret, expiresAt } = await call<PairingStart>("POST", "/v1/pair/start", { publicKey, name: ownName() });
  return { code, secret, expiresAt, key };
}

/** What became of it: undefined while nobody has typed the code; 403 when nobody can any more. */
export async function pollPairing({ secret, key }: Pending): Promise<OwnDevice | undefined> {
  const made = await call<Device | undefined>("POST", "/v1/pair/poll", { secret });
  return made && own(made, key);
}

function own({ id, name, role }: Device, key: CryptoKey): OwnDevice {
  return { id, name, role, key };
}

/** What this browser calls itself while nobody has named it. */
export function ownName(): string {
  return deviceName(navigator.userAgent);
}

export function listDevices(): Promise<Device[]> {
  return authorized("GET", "/v1/devices");
}

export function revokeDevice(id: string): Promise<unknown> {
  return authorized("DELETE", `/v1/devices/${encodeURIComponent(id)}`);
}

/** The requests that ended last, newest first. */
export function listEnded(): Promise<PermissionRequest[]> {
  return authorized("GET", "/v1/requests?state=ended&limit=20");
}

export function getRequest(id: string): Promise<PermissionRequest> {
  return authorized("GET", `/v1/requests/${encodeURIComponent(id)}`);
}

export function getSession(id: string): Promise<SessionInfo> {
  return authorized("GET", `/v1/sessions/${encodeURIComponent(id)}`);
}

/** The events of a feed from behind the position after on. The broker sends fewer than limit
 * where they are large. */
export async function getFeed(id: string, after: number, limit: number): Promise<Line[]> {
  const lines: Line[] = [];
  for (;;) {
    const query = new URLSearchParams({ after: String(lines[lines.length - 1]?.pos ?? after), limit: String(limit - lines.length) });
    const page = await authorized<Line[]>("GET", `/v1/sessions/${encodeURIComponent(id)}/feed?${query}`);
    lines.push(...page);
    if (page.length === 0 || lines.length >= limit) return lines;
  }
}

export function search(words: string, limit: number): Promise<Found[]> {
  return authorized("GET", `/v1/search?${new URLSearchParams({ q: words, limit: String(limit) })}`);
}

/** What a list of decisions is about; what is absent is about all. */
export interface DecisionFilter {
  outcome?: string;
  kind?: string;
  by?: string;
  repo?: string;
  tool?: string;
  session?: string;
  since?: string;
  q?: string;
}

export function listDecisions(f: DecisionFilter, limit: number, after?: string): Promise<Settled[]> {
  return authorized("GET", `/v1/decisions?${new URLSearchParams({ ...f, limit: String(limit), ...(after ? { after } : {}) })}`);
}

export function getStats(step: "hour" | "day", since: Date, zone: string): Promise<Stats> {
  return authorized("GET", `/v1/stats?${new URLSearchParams({ step, since: since.toISOString(), zone })}`);
}

export function getRules(): Promise<Rules> {
  return authorized("GET", "/v1/rules");
}

export function listGrants(): Promise<Saved[]> {
  return authorized("GET", "/v1/grants");
}

/** Rules for what people allowed again and again. */
export function getSuggestions(): Promise<Suggestions> {
  return authorized("GET", "/v1/suggestions");
}

/** Ends what an approver had assent remember. */
export function revokeSaved(kind: Saved["kind"], id: string): Promise<unknown> {
  return authorized("DELETE", `/v1/${kind}s/${encodeURIComponent(id)}`);
}

export async function wsTicket(): Promise<string> {
  return (await authorized<{ ticket: string }>("POST", "/v1/ws/ticket", {})).ticket;
}

export type { Proposals };

/** Rules that a request could become; the narrowest first. */
export function getProposals(id: string): Promise<Proposals> {
  return authorized("GET", `/v1/requests/${encodeURIComponent(id)}/proposals`);
}

/** Has assent keep a proposal: as a rule, or as a grant with an end or a count. */
export async function keep(r: { id: string; inputSha256: string }, proposal: string, bound: { expiresAt?: string; count?: number; suggested?: true }): Promise<void> {
  const kind = bound.expiresAt || bound.count ? "grant" : "rule";
  const body = { requestId: r.id, inputSha256: r.inputSha256, proposal, ...bound };
  const device = ownDevice();
  const text = ["assent always v1", r.id, r.inputSha256, kind, proposal, bound.expiresAt ?? "", String(bound.count ?? 0)].join("\n");
  await verified(kind === "grant" ? "/v1/grants" : "/v1/rules", device ? { ...body, signature: await sign(device.key, text) } : body, text, true);
}

/** Sends a decision; asks says that the device's owner has to confirm it. */
export async function decide(id: string, decision: Decision, asks: boolean): Promise<DecisionResult> {
  const [body, text] = await signed(id, decision);
  return verified(`/v1/requests/${encodeURIComponent(id)}/decision`, body, text, asks);
}

/** Posts what is signed, with the proof that the owner of this device was verified for it: where asks says
 * that it will be wanted, or else when the broker wants it. */
export async function verified<T>(path: string, body: object, text: string, asks: boolean): Promise<T> {
  let why: unknown;
  if (!asks || !verificationNow().credential) {
    try {
      return await authorized<T>("POST", path, body);
    } catch (e) {
      if (!(e instanceof ApiError && e.problem.reason === "verification" && ownDevice())) throw e;
      why = e;
    }
  }
  const { verify } = await import("../panels/panels");
  return authorized<T>("POST", path, { ...body, verification: await verify(text, why) });
}

/** Leaves a request to the agent's own prompt. */
export async function handBack({ id, inputSha256 }: { id: string; inputSha256: string }): Promise<void> {
  const device = ownDevice();
  const text = ["assent handback v1", id, inputSha256].join("\n");
  await authorized("POST", `/v1/requests/${encodeURIComponent(id)}/handback`, device ? { inputSha256, signature: await sign(device.key, text) } : { inputSha256 });
}

/** The text a device signs for a decision: what it decided about, and all that it says. */
export function decisionText(id: string, d: Decision, digests: { message: string; updatedInput: string; updatedPermissions: string; shown: string }): string {
  return [
    "assent decision v2",
    id,
    d.inputSha256,
    d.behavior,
    d.interrupt ? "interrupt" : "",
    digests.message,
    digests.updatedInput,
    digests.updatedPermissions,
    digests.shown,
    d.signedAt ?? "",
  ].join("\n");
}

async function signed(id: string, decision: Decision): Promise<[Decision, string]> {
  const device = ownDevice();
  if (!device) return [decision, ""];
  const d = { ...decision, signedAt: new Date().toISOString() };
  const text = async (s: string | undefined) => (s === undefined ? "" : digest(s));
  const json = (v: unknown) => (v === undefined ? undefined : JSON.stringify(v));
  const signed = decisionText(id, d, {
    message: await text(d.message),
    updatedInput: await text(json(d.updatedInput)),
    updatedPermissions: await text(json(d.updatedPermissions)),
    shown: await text(d.shown),
  });
  return [{ ...d, signature: await sign(device.key, signed) }, signed];
}
