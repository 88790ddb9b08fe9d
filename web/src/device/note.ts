// The signature of a checkpoint: a signed note (C2SP signed-note) with a key of Ed25519. docs/audit.md is the specification.

/** What verifying a note came to: "unknown" where another key signed it than those that are known (brokers that share a record
 * have one each), or where this browser has no Ed25519. */
export type Checked = "good" | "bad" | "unknown";

/** Verifies a note with keys as a broker writes them, ORIGIN+HASH+KEY. What nobody signed is bad. */
export async function checkNote(note: string, keys: readonly string[]): Promise<Checked> {
  const [body, signatures, more] = note.split("\n\n");
  if (!body || !signatures || more !== undefined) return "bad";
  const origin = body.split("\n", 1)[0]!;
  let found: Checked = "bad";
  for (const line of signatures.trimEnd().split("\n")) {
    const [dash, name, value, rest] = line.split(" ");
    const bytes = fromBase64(value);
    if (dash !== "—" || rest !== undefined || !bytes || bytes.length < 5) return "bad";
    if (name !== origin) continue;
    const checked = await one(`${body}\n`, origin, bytes, keys);
    if (checked === "good") return checked;
    if (checked === "bad") return checked; // a key that is known, and did not sign this
    found = checked;
  }
  return found;
}

async function one(text: string, origin: string, signature: Bytes, keys: readonly string[]): Promise<Checked> {
  const id = hex(signature.subarray(0, 4));
  for (const key of keys) {
    const [name, hash, ...parts] = key.split("+");
    const raw = fromBase64(parts.join("+")); // base64 has a + of its own
    if (name !== origin || hash !== id || raw?.length !== 33 || raw[0] !== 1) continue;
    let made: CryptoKey;
    try {
      made = await crypto.subtle.importKey("raw", raw.subarray(1), "Ed25519", false, ["verify"]);
    } catch {
      return "unknown";
    }
    return (await crypto.subtle.verify("Ed25519", made, signature.subarray(4), new TextEncoder().encode(text))) ? "good" : "bad";
  }
  return "unknown";
}

type Bytes = Uint8Array<ArrayBuffer>;

const hex = (b: Bytes) => [...b].map((n) => n.toString(16).padStart(2, "0")).join("");

function fromBase64(text: string | undefined): Bytes | undefined {
  try {
    return text ? Uint8Array.from(atob(text), (c) => c.charCodeAt(0)) : undefined;
  } catch {
    return undefined;
  }
}
