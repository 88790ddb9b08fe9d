// The key of this browser: a P-256 pair whose private part WebCrypto never gives out, kept in
// IndexedDB, which belongs to this origin and port alone. No cookie, no localStorage.

export interface Device {
  id: string;
  name: string;
  role: string;
  key: CryptoKey; // private, not extractable
}

const database = "assent";
const store = "device";
const only = "this"; // one device a browser

/** WebCrypto and IndexedDB are there only on https and on localhost. */
export function canKeepKeys(): boolean {
  return isSecureContext && typeof crypto.subtle === "object" && typeof indexedDB === "object";
}

export interface NewKey {
  publicKey: { kty: string; crv: string; x: string; y: string };
  key: CryptoKey;
}

export async function newKey(): Promise<NewKey> {
  const pair = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, false, ["sign", "verify"]);
  const { kty, crv, x, y } = await crypto.subtle.exportKey("jwk", pair.publicKey);
  if (!kty || !crv || !x || !y) throw new Error("the browser made a key without a public part");
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

export async function loadDevice(): Promise<Device | undefined> {
  return (await transact("readonly", (s) => s.get(only))) as Device | undefined;
}

export async function saveDevice(device: Device): Promise<void> {
  await transact("readwrite", (s) => s.put(device, only));
}

export async function forgetDevice(): Promise<void> {
  await transact("readwrite", (s) => s.delete(only));
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
    "Browser",
  );
  const system = pick(
    [[/iPhone/, "iPhone"], [/iPad/, "iPad"], [/Android/, "Android"], [/Mac OS/, "Mac"], [/Windows/, "Windows"], [/Linux/, "Linux"]],
    "a device",
  );
  return `${browser} on ${system}`;
}
