import assert from "node:assert/strict";
import { test } from "node:test";
import { compare, headOf, type Head } from "./tree";

// The tree as RFC 6962 defines it, the plain way.
type Hash = Uint8Array<ArrayBuffer>;
const sum = async (...parts: (Hash | number[])[]) => new Uint8Array(await crypto.subtle.digest("SHA-256", Uint8Array.from(parts.flatMap((p) => [...p]))));
const split = (n: number) => 2 ** Math.floor(Math.log2(n - 1));
const base64 = (h: Hash) => btoa(String.fromCharCode(...h));

async function root(leaves: Hash[]): Promise<Hash> {
  if (leaves.length === 1) return leaves[0]!;
  const k = split(leaves.length);
  return sum([1], await root(leaves.slice(0, k)), await root(leaves.slice(k)));
}

async function subproof(m: number, leaves: Hash[], whole: boolean): Promise<Hash[]> {
  if (m === leaves.length) return whole ? [] : [await root(leaves)];
  const k = split(leaves.length);
  if (m <= k) return [...(await subproof(m, leaves.slice(0, k), whole)), await root(leaves.slice(k))];
  return [...(await subproof(m - k, leaves.slice(k), false)), await root(leaves.slice(0, k))];
}

const head = async (leaves: Hash[], origin = "assent/1"): Promise<Head> => ({ origin, size: leaves.length, root: base64(await root(leaves)), time: "2026-11-28T10:00:00Z" });

test("a tree that goes on is told from every other", async () => {
  const leaves = await Promise.all(Array.from({ length: 20 }, (_, i) => sum([0, i])));
  const bad = await sum([0, 99]);
  for (let n = 1; n <= leaves.length; n++) {
    const now = await head(leaves.slice(0, n));
    for (let m = 1; m < n; m++) {
      const seen = await head(leaves.slice(0, m));
      const proof = (await subproof(m, leaves.slice(0, n), true)).map(base64);
      assert.equal(await compare(seen, now, proof), "continued", `${m} of ${n}`);
      assert.equal(await compare({ ...seen, root: base64(bad) }, now, proof), "changed", `another ${m} of ${n}`);
      assert.equal(await compare(seen, { ...now, root: base64(bad) }, proof), "changed", `${m} of another ${n}`);
      for (let i = 0; i < proof.length; i++) {
        assert.equal(await compare(seen, now, proof.with(i, base64(bad))), "changed", `${m} of ${n}, hash ${i} replaced`);
        assert.equal(await compare(seen, now, proof.toSpliced(i, 1)), "changed", `${m} of ${n}, hash ${i} left out`);
      }
      assert.equal(await compare(seen, now, [...proof, base64(bad)]), "changed", `${m} of ${n}, one more`);
      assert.equal(await compare(seen, now, [...proof, "?"]), "changed", `${m} of ${n}, nonsense`);
      assert.equal(await compare(now, seen, proof), "older");
    }
    assert.equal(await compare(now, now, []), "continued");
    assert.equal(await compare({ ...now, root: base64(bad) }, now, []), "changed");
    assert.equal(await compare({ ...now, origin: "assent/2" }, now, []), "other");
  }
});

test("a checkpoint is read", async () => {
  const h = await head([await sum([0])]);
  const note = `${h.origin}\n1\n${h.root}\ntime ${h.time}\nrecord 1\nlast none\n\n— assent/1 AAAA\n`;
  assert.deepEqual(headOf(note), h);
  for (const bad of ["", "x", note.replace("\n1\n", "\n-1\n"), note.replace("\n1\n", "\n1e3\n"), note.replace("time ", ""), note.replace(h.root, "AAAA")]) assert.equal(headOf(bad), undefined, bad);
});
