// Notifications of this browser: the service worker, the subscription, its settings, and what a tap
// on a notification asks of the page. Nothing here is shown; settings and inbox do that.
import { digest } from "../broker/digest";
import type { Push, PushSettings } from "../broker/types.gen";
import { sign } from "./device";
import { authorized, ownDevice } from "./session";

/** Why this browser cannot ring, or "" where it can. */
export type Hindrance =
  | ""
  | "insecure" // neither https nor this machine
  | "unsupported" // no push here; on an iPhone the page must be on the home screen first
  | "denied"; // its owner said no, and has to change that in the browser's settings

export function hindrance(): Hindrance {
  if (!isSecureContext) return "insecure";
  if (!("serviceWorker" in navigator) || !("PushManager" in window) || !("Notification" in window)) return "unsupported";
  return Notification.permission === "denied" ? "denied" : "";
}

interface Policy {
  createScriptURL(url: string): string; // a TrustedScriptURL
}

let policy: Policy | undefined;
let registering: Promise<ServiceWorkerRegistration> | undefined;

/** The service worker of this page, registered and active. Harmless to call again. */
export function serviceWorker(): Promise<ServiceWorkerRegistration> {
  registering ??= register().catch((e: unknown) => {
    registering = undefined; // another call may try again
    throw e;
  });
  return registering;
}

async function register(): Promise<ServiceWorkerRegistration> {
  const types = (globalThis as { trustedTypes?: { createPolicy(name: string, rules: Policy): Policy } }).trustedTypes;
  policy ??= types?.createPolicy("assent-worker", { createScriptURL: () => "/sw.js" });
  await navigator.serviceWorker.register(policy?.createScriptURL("/sw.js") ?? "/sw.js", { scope: "/", updateViaCache: "none" });
  return navigator.serviceWorker.ready;
}

/** How this device stands with notifications. Throws Unpaired, ApiError: 403 for a token. */
export function pushState(): Promise<Push> {
  return authorized("GET", "/v1/push");
}

export function savePushSettings(settings: PushSettings): Promise<Push> {
  return change({ settings });
}

/** Says where and when this device is rung, signed by it. */
async function change(c: { subscription?: PushSubscriptionJSON; settings?: PushSettings }): Promise<Push> {
  const device = ownDevice();
  if (!device) return authorized("PUT", "/v1/push", c); // a token, to which the broker says what is wrong
  const json = (v: unknown) => (v === undefined ? "" : digest(JSON.stringify(v)));
  const text = ["assent push v1", device.id, await json(c.subscription), await json(c.settings)].join("\n");
  return authorized("PUT", "/v1/push", { ...c, signature: await sign(device.key, text) });
}

/** Sends a notification to this browser. Throws ApiError: 502 says why its push service refused. */
export async function testPush(): Promise<void> {
  await authorized("POST", "/v1/push/test", {});
}

/** Subscribes this browser; it may ask its owner, so call it from a tap. Rejects with a
 * DOMException NotAllowedError when the owner says no, TimeoutError when the push service is silent. */
export async function subscribe(settings?: PushSettings): Promise<Push> {
  const worker = await serviceWorker(); // before the question, which needs the tap to be fresh
  if ((await Notification.requestPermission()) !== "granted") throw new DOMException("notifications are not allowed here", "NotAllowedError");
  const subscription = await inTime(subscriptionTo(worker, (await pushState()).publicKey));
  return change({ subscription: subscription.toJSON(), ...(settings ? { settings } : {}) });
}

/** Ends notifications of this browser, here and at the broker. */
export async function unsubscribe(): Promise<void> {
  await authorized("DELETE", "/v1/push");
  const worker = await navigator.serviceWorker.getRegistration("/");
  await (await worker?.pushManager.getSubscription())?.unsubscribe();
}

/** Puts right what changed while the page was closed: browsers renew subscriptions by
 * themselves, and a broker may have lost its key. For the page's start; asks nobody. */
export async function keepSubscribed(): Promise<Push | undefined> {
  if (hindrance() || Notification.permission !== "granted") return undefined;
  const state = await pushState();
  const worker = await serviceWorker();
  const own = await worker.pushManager.getSubscription();
  // Not subscribed here and not there: its owner wants none.
  if (!own && !state.subscribed) return state;
  const subscription = await subscriptionTo(worker, state.publicKey);
  return change({ subscription: subscription.toJSON() });
}

/** This browser's one subscription, to this key. */
async function subscriptionTo(worker: ServiceWorkerRegistration, publicKey: string): Promise<PushSubscription> {
  const key = bytes(publicKey);
  const own = await worker.pushManager.getSubscription();
  if (own && same(own.options.applicationServerKey, key)) return own;
  await own?.unsubscribe();
  return worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
}

const patience = 20_000;

/** Browsers that cannot reach their push service say nothing at all. */
function inTime<T>(what: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout>;
  const over = new Promise<never>((_, no) => {
    timer = setTimeout(() => no(new DOMException("", "TimeoutError")), patience);
  });
  return Promise.race([what, over]).finally(() => clearTimeout(timer));
}

export function bytes(base64url: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64url.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(text, (c) => c.charCodeAt(0));
}

function same(a: ArrayBuffer | null, b: Uint8Array): boolean {
  const x = new Uint8Array(a ?? new ArrayBuffer(0));
  return x.length === b.length && x.every((v, i) => v === b[i]);
}

/** What a notification leads to: a request's card, or the line in which a session is answered. Both "": the queue. */
export interface Wanted {
  requestId: string;
  reply: string; // a session's id
}

/** What a notification or a notice led here for. It leaves the address, so that a reload does not lead there
 * again. */
export function takeWantedInAddress(): Wanted {
  const url = new URL(location.href);
  const [requestId = "", reply = ""] = ["request", "reply"].map((name) => url.searchParams.get(name) ?? "");
  if (requestId || reply) {
    for (const name of ["request", "reply"]) url.searchParams.delete(name);
    history.replaceState(null, "", url.pathname + url.search + url.hash);
  }
  return { requestId: plainID(requestId), reply: sessionID(reply) };
}

/** Calls show with what each notification leads to that is tapped while this page is open. Returns what
 * ends that. */
export function onTap(show: (wanted: Wanted) => void): () => void {
  const container = navigator.serviceWorker as ServiceWorkerContainer | undefined;
  if (!container) return () => undefined;
  const hear = (e: MessageEvent) => {
    const m = e.data as { type?: unknown; requestId?: unknown; reply?: unknown } | null;
    if (m?.type === "open" && typeof m.requestId === "string") show({ requestId: plainID(m.requestId), reply: typeof m.reply === "string" ? sessionID(m.reply) : "" });
  };
  container.addEventListener("message", hear);
  container.startMessages();
  return () => container.removeEventListener("message", hear);
}

/** An id that can be a session's, which its agent chose. */
function sessionID(id: string): string {
  return id.length <= 256 ? id : "";
}

/** An id that can be one of the broker's. */
function plainID(id: string): string {
  return /^[0-9A-Za-z-]{1,64}$/.test(id) ? id : "";
}
