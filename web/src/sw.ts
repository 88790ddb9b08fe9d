// The service worker: it shows what the broker pushes, and a page that says so when the broker is
// away. A message holds no input and nothing can be decided from a notification; a tap opens the
// very card. What a request is about stands in a message only where this device wants it: then the
// notification shows it, on a locked screen too. Nothing of the API is kept or answered here.
import type { PushMessage } from "./broker/types.gen";
import { ringing } from "./text/words/ringing";

declare const self: ServiceWorkerGlobalScope;

/** What a notification carries for the tap. */
interface Carried {
  requestId?: string;
  settled?: boolean;
  reply?: string; // a session's id
}

/** The digest of what is kept: with other files it is another worker. */
declare const SHELL: string;
const kept = `assent-${SHELL}`;
const offline = "/offline.html";
const shell = [offline, "/offline.js", "/app.css", "/icon.svg"];

self.addEventListener("install", (e) => {
  void self.skipWaiting(); // it keeps nothing that an older one needs
  e.waitUntil(caches.open(kept).then((c) => c.addAll(shell.map((path) => new Request(path, { cache: "reload" })))));
});

self.addEventListener("activate", (e) => {
  e.waitUntil(caches.keys().then((names) => Promise.all(names.filter((n) => n !== kept).map((n) => caches.delete(n)))));
});

self.addEventListener("fetch", (e) => {
  const { mode, method, url } = e.request;
  const { pathname, origin } = new URL(url);
  const name = mode === "navigate" ? offline : pathname;
  if (method !== "GET" || origin !== location.origin || !shell.includes(name)) return;
  e.respondWith(fetch(e.request).catch(async () => (await caches.match(name)) ?? Response.error()));
});

self.addEventListener("push", (e) => e.waitUntil(ring(read(e.data))));

self.addEventListener("notificationclick", (e) => {
  e.notification.close();
  e.waitUntil(open((e.notification.data as Carried | null) ?? {}));
});

/** The message, or undefined for what a later broker may send. */
function read(data: PushMessageData | null): PushMessage | undefined {
  try {
    const m = data?.json() as PushMessage | null;
    return m && typeof m === "object" && typeof m.type === "string" ? m : undefined;
  } catch {
    return undefined;
  }
}

/** Browsers want something shown for every message. */
async function ring(m: PushMessage | undefined): Promise<void> {
  if (m) await badge(m.waiting);
  switch (m?.type) {
    case "asked":
      await close(m);
      return show(m.requestId ?? "asked", about(m), where(m), request(m));
    case "waits":
      return show(m.requestId ?? "asked", ringing.waits(about(m)), where(m), request(m), true);
    case "finished":
      if (m.reply) return show(`finished ${m.reply}`, ringing.done(m.session ?? m.project ?? ""), ringing.reply, { reply: m.reply }, true, false, [{ action: "reply", title: ringing.reply }]);
      return show(`finished ${m.sessionId ?? m.project ?? m.session ?? ""}`, m.agent ? ringing.agentFinished(m.agent) : ringing.finished, where(m, "", ""), session(m));
    case "failed":
      return show(`failed ${m.sessionId ?? m.project ?? m.session ?? ""}`, m.agent ? ringing.agentFailed(m.agent) : ringing.failed, where(m, "", ""), session(m));
    case "blocked":
      return show(`blocked ${m.sessionId ?? ""}`, ringing.asked[m.waits ?? "budget"] ?? ringing.asked.budget, where(m), session(m), true);
    case "halted":
      return show("halted", ringing.halted[m.halt ?? "stop"](m.by ?? ""), ringing.haltedWhy[m.halt ?? "stop"], {}, true);
    case "many":
      await close(m);
      return show("many", ringing.many(m.waiting), ringing.tap, {}, true);
    case "settled":
      return settle(m);
    case "test":
      return show("test", ringing.test, "", {});
  }
  return show("unreadable", ringing.unreadable, "", {});
}

/** What a request is about: in one sentence, or its kinds, or only that it waits. */
function about(m: PushMessage): string {
  const kinds = (m.effects ?? []).flatMap((k) => ringing.kinds[k] ?? []);
  return m.sentence || kinds.join(" · ") || (ringing.asked[m.waits ?? "permission"] ?? ringing.asked.permission);
}

/** Where it comes from, and how risky it is, as far as the message says; else other. */
function where(m: PushMessage, other: string = ringing.tap, agent: string | undefined = m.agent): string {
  const risk = ringing.risks[m.risk ?? ""];
  const parts = [agent, m.project, m.session && m.session !== m.project ? ringing.inSession(m.session) : "", risk].filter(Boolean);
  return parts.join(" · ") || other;
}

/** What ended a turn opens its session. */
function session(m: PushMessage): Carried {
  return m.sessionId ? { reply: m.sessionId } : {};
}

function request(m: PushMessage): Carried {
  return m.requestId ? { requestId: m.requestId } : {};
}

/** Replaces the notification of what was settled by one that says so, without a sound. */
async function settle(m: PushMessage): Promise<void> {
  const shown = await self.registration.getNotifications();
  const gone = m.gone ?? [];
  const there = gone.filter((g) => shown.some((n) => n.tag === g.id));
  const last = there[there.length - 1];
  for (const n of shown) {
    const old = (n.data as Carried | null)?.settled; // one that says so is enough
    if (n.tag !== last?.id && (old || gone.some((g) => g.id === n.tag))) n.close();
  }
  const { allowed, denied, expired, other } = ringing.settled;
  const words: Record<string, string> = { allowed, denied, expired };
  const title = last?.id === "many" ? ringing.manySettled : (words[last?.outcome ?? ""] ?? other);
  const tag = last?.id ?? "settled";
  await show(tag, title, ringing.still(m.waiting), { settled: true, ...(tag === "many" || tag === "settled" ? {} : { requestId: tag }) }, false, true);
  // Its owner had put it away, or never got it: then there is nothing to say.
  if (!last) for (const n of await self.registration.getNotifications({ tag })) n.close();
}

/** Puts away what the message says is settled, where it has something newer to show. */
async function close(m: PushMessage): Promise<void> {
  for (const n of await self.registration.getNotifications()) {
    if ((n.data as Carried | null)?.settled || m.gone?.some((g) => g.id === n.tag)) n.close();
  }
}

interface Action {
  action: string;
  title: string;
}

async function show(tag: string, title: string, body: string, data: Carried, again = false, silent = false, actions?: Action[]): Promise<void> {
  const options: NotificationOptions & { renotify: boolean; actions?: Action[] } = {
    ...(actions ? { actions } : {}),
    tag,
    body,
    data,
    lang: "en",
    renotify: again,
    silent: silent || (await looking()),
  };
  if (options.silent) options.renotify = false; // the two exclude each other
  return self.registration.showNotification(title, options);
}

/** Whether the page is before somebody's eyes: then nothing needs to sound. */
async function looking(): Promise<boolean> {
  return (await windows()).some((w) => w.focused);
}

async function windows(): Promise<readonly WindowClient[]> {
  return self.clients.matchAll({ type: "window", includeUncontrolled: true });
}

async function badge(waiting: number): Promise<void> {
  try {
    await (waiting > 0 ? self.navigator.setAppBadge?.(waiting) : self.navigator.clearAppBadge?.());
  } catch {
    // a page that is not installed has none
  }
}

/** Shows the request's card, or the line in which a session is answered: in a window that is open, else in
 * a new one. */
async function open({ requestId, reply }: Carried): Promise<void> {
  const all = await windows();
  const window = all.find((w) => w.focused) ?? all.find((w) => w.visibilityState === "visible") ?? all[0];
  if (!window) {
    const query = requestId ? `?request=${encodeURIComponent(requestId)}` : reply ? `?reply=${encodeURIComponent(reply)}` : "";
    await self.clients.openWindow(`/${query}`);
    return;
  }
  window.postMessage({ type: "open", requestId: requestId ?? "", reply: reply ?? "" });
  await window.focus();
}
