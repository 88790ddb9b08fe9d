// The tree over the broker's record, as a checkpoint names it: whether one tree is the beginning of another.
// docs/audit.md is the specification.

/** A head of the tree. */
export interface Head {
  /** Which tree it is. */
  origin: string;
  /** How many leaves it has. */
  size: number;
  /** Its hash, in base64. */
  root: string;
  /** When it was signed, as the broker wrote it. */
  time: string;
}

const isHash = /^[A-Za-z0-9+/]{43}=$/;

/** Reads a signed checkpoint; undefined where it is none. Whose signature it has is looked at in note.ts. */
export function headOf(note: string): Head | undefined {
  const [origin, size, root, time] = note.split("\n");
  if (!origin || !/^\d{1,15}$/.test(size ?? "") || !isHash.test(root ?? "") || !time?.startsWith("time ")) return undefined;
  return { origin, size: Number(size), root: root!, time: time.slice(5) };
}

/** What a tree is beside the one that was seen before. */
export type Compared = "continued" | "older" | "changed" | "other";

/** Compares a tree with one that was seen before, by the proof (RFC 9162, 2.1.4.2; hashes in base64) that the
 * broker gives of trees that are larger. */
export async function compare(seen: Head, now: Head, proof: readonly string[]): Promise<Compared> {
  if (now.origin !== seen.origin) return "other";
  if (now.size < seen.size) return "older";
  if (now.size === seen.size) return now.root === seen.root ? "continued" : "changed";
  return (await begins(seen, now, proof)) ? "continued" : "changed";
}

async function begins(first: Head, second: Head, proof: readonly string[]): Promise<boolean> {
  if (!proof.every((hash) => isHash.test(hash))) return false;
  const path = proof.map(bytes);
  let a = first.size - 1;
  let b = second.size - 1;
  while (a % 2 === 1) [a, b] = [half(a), half(b)];
  if (a === 0) path.unshift(bytes(first.root)); // it is a whole subtree of the second
  let old = path.shift();
  let whole = old;
  if (!old || !whole) return false;
  for (const c of path) {
    if (b === 0) return false;
    if (a % 2 === 1 || a === b) {
      old = await node(c, old);
      whole = await node(c, whole);
      while (a % 2 === 0 && a > 0) [a, b] = [half(a), half(b)];
    } else {
      whole = await node(whole, c);
    }
    [a, b] = [half(a), half(b)];
  }
  return b === 0 && same(old, bytes(first.root)) && same(whole, bytes(second.root));
}

const half = (n: number) => Math.floor(n / 2);

const bytes = (base64: string) => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));

const same = (x: Uint8Array, y: Uint8Array) => x.length === y.length && x.every((b, i) => b === y[i]);

async function node(left: Uint8Array, right: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new Uint8Array([1, ...left, ...right])));
}
