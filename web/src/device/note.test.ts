import assert from "node:assert/strict";
import { test } from "node:test";
import { checkNote } from "./note";

const origin = "assent/0123456789abcdef";
const text = `${origin}\n1\n${btoa("x".repeat(32))}\ntime 2026-11-28T10:00:00Z\nrecord 1\nlast none\n`;
const base64 = (b: Uint8Array) => btoa(String.fromCharCode(...b));

async function signer() {
  const pair = (await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"])) as CryptoKeyPair;
  const raw = new Uint8Array([1, ...new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey))]);
  const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", new Uint8Array([...new TextEncoder().encode(`${origin}\n`), ...raw]))).subarray(0, 4);
  const sign = async (t: string) => `— ${origin} ${base64(new Uint8Array([...sum, ...new Uint8Array(await crypto.subtle.sign("Ed25519", pair.privateKey, new TextEncoder().encode(t)))]))}\n`;
  return { key: `${origin}+${[...sum].map((n) => n.toString(16).padStart(2, "0")).join("")}+${base64(raw)}`, sign };
}

test("a checkpoint's signature is verified", async () => {
  const [ours, other] = [await signer(), await signer()];
  const note = `${text}\n${await ours.sign(text)}`;
  assert.equal(await checkNote(note, [other.key, ours.key]), "good");
  assert.equal(await checkNote(note, [other.key]), "unknown");
  assert.equal(await checkNote(note, []), "unknown");
  for (let i = 0; i < text.length - 1; i++) {
    const changed = `${text.slice(0, i)}${text[i] === "z" ? "y" : "z"}${text.slice(i + 1)}\n${note.slice(text.length + 1)}`;
    assert.notEqual(await checkNote(changed, [ours.key]), "good", `character ${i}`);
  }
  assert.equal(await checkNote(`${text.replace("record 1", "record 2")}\n${await ours.sign(text)}`, [ours.key]), "bad");
  for (const bad of ["", text, `${text}\n`, `${text}\n— x\n`, `${text}\n— ${origin} ?\n`, `${text}\n— ${origin} AAAA\n`, `${text}\n— other ${btoa("x".repeat(68))}\n`, `${note}\n${note}`]) {
    assert.equal(await checkNote(bad, [ours.key]), "bad", bad);
  }
});

// What Go's sumdb/note signs with a key of the tree is what is verified here.
test("a checkpoint as a broker signs it", async () => {
  const signed = `${origin}\n3\n${"A".repeat(43)}=\ntime 2026-11-28T10:00:00Z\nrecord 2\nlast none\n\n— ${origin} PalvxxHv3gHO7QBPYg/jKZ2Wxe7yWOMbUzLFyy4qw38e/Xr988wwlZ97V/vBfRFTIutpR3SSwFp3v9L/xYvGeOVzbQI=\n`;
  const key = `${origin}+3da96fc7+AbKWelChiAX8Ows4RxXLvDEfuN+PKThkX8BjHpoUOqQy`;
  assert.equal(await checkNote(signed, [key]), "good");
  assert.equal(await checkNote(signed.replace("record 2", "record 3"), [key]), "bad");
});
