// The key of this browser: a P-256 pair whose private part WebCrypto never gives out, kept in
// IndexedDB, which belongs to this origin and port alone. No cookie, no localStorage.
import { words } from "../text/words";

/** This browser as one of the broker's devices. */
export interface OwnDevice {
  id: string;
  name: string;
  role: string;
  key: CryptoKey; // private, not extractable
}

/** A pairing that began here and is not confirmed yet. It is kept, so that a reload does not
 * lose the key to a code that somebody is about to type. */
export interface Pending {
  code: string; // for people
  secret: string; // with which the page asks
  expiresAt: string;
  key: CryptoKey;
}

/** WebCrypto is there only on https and on the machine itself. */
export function canSign(): boolean {
  return isSecureContext && typeof crypto.subtle === "object";
}

export interface NewKey {
  publicKey: { kty: string; crv: string; x: string; y: string };
  key: CryptoKey;
}

export async function newKey(): Promise<NewKey> {
  const pair = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, false, ["sign", "verify"]);
  const { kty, crv, x, y } = await crypto.subtle.exportKey("jwk", pair.publicKey);
  if (!kty || !crv || !x || !y) throw new Error(words.door.noPublicKey);
  return { publicKey: { kty, crv, x, y }, key: pair.privateKey };
}

/** Unpadded base64url of r and s over the SHA-256 of the text's UTF-8. */
export async function sign(key: CryptoKey, text: string): Promise<string> {
  const bytes = new TextEncoder().encode(text);
  return base64url(new Uint8Array(await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, key, bytes)));
}

export function base64url(bytes: Uint8Array): string {
  let s = "";
  for (const b of bytes) s += String.fromCharCode(b);
  return btoa(s).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

// The store has two places: one device a browser, and one pairing under way. Everything below
// rejects where the browser keeps nothing for pages.
const database = "assent";
const store = "device";
const deviceAt = "this";
const pendingAt = "pending";

export async function loadDevice(): Promise<OwnDevice | undefined> {
  return (await transact("readonly", (s) => s.get(deviceAt))) as OwnDevice | undefined;
}

/** Also ends the pairing under way. */
export async function saveDevice(device: OwnDevice): Promise<void> {
  await transact("readwrite", (s) => {
    s.delete(pendingAt);
    return s.put(device, deviceAt);
  });
}

/** Removes this device, unless another one has taken its place. */
export async function forgetDevice(id: string): Promise<void> {
  if ((await loadDevice())?.id === id) await transact("readwrite", (s) => s.delete(deviceAt));
}

export async function loadPending(): Promise<Pending | undefined> {
  return (await transact("readonly", (s) => s.get(pendingAt))) as Pending | undefined;
}

export async function savePending(pending: Pending): Promise<void> {
  await transact("readwrite", (s) => s.put(pending, pendingAt));
}

/** Removes this pairing, unless another tab has begun a new one. */
export async function forgetPending(secret: string): Promise<void> {
  if ((await loadPending())?.secret === secret) await transact("readwrite", (s) => s.delete(pendingAt));
}

async function transact(mode: IDBTransactionMode, work: (s: IDBObjectStore) => IDBRequest): Promise<unknown> {
  const db = await new Promise<IDBDatabase>((resolve, reject) => {
    const open = indexedDB.open(database, 1);
    open.onupgradeneeded = () => open.result.createObjectStore(store);
    open.onsuccess = () => resolve(open.result);
    open.onerror = () => reject(open.error);
  });
  try {
    return await new Promise((resolve, reject) => {
      const tx = db.transaction(store, mode);
      const request = work(tx.objectStore(store));
      tx.oncomplete = () => resolve(request.result);
      tx.onerror = tx.onabort = () => reject(tx.error);
    });
  } finally {
    db.close();
  }
}

/** A name by which its owner knows this device in lists: "Chrome on Android". */
export function deviceName(agent: string): string {
  const pick = (table: [RegExp, string][], other: string) => table.find(([re]) => re.test(agent))?.[1] ?? other;
  const browser = pick(
    [[/Edg/, "Edge"], [/Firefox|FxiOS/, "Firefox"], [/Chrome|CriOS/, "Chrome"], [/Safari/, "Safari"]],
    words.browser.some,
  );
  const system = pick(
    [[/iPhone/, "iPhone"], [/iPad/, "iPad"], [/Android/, "Android"], [/Mac OS/, "Mac"], [/Windows/, "Windows"], [/Linux/, "Linux"]],
    words.browser.someSystem,
  );
  return words.browser.name(browser, system);
}
