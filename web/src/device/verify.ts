// Verifies the owner of this device: the browser asks for a face, a fingerprint or the PIN, and the device's
// own credential signs one text. The script comes when it is first wanted.
import { ApiError } from "../broker/http";
import { digest } from "../broker/digest";
import type { Verification, VerificationState } from "../broker/types.gen";
import { laterWords } from "../text/words/later";
import { base64url, sign } from "./device";
import { authorized, noteVerification, ownDevice } from "./session";

const w = laterWords.verify;
const patience = 120_000; // ms: as long as the broker keeps the challenge

export type { VerificationState };

/** Whether this browser can verify anybody by itself, without a key that is plugged in. */
export async function canVerify(): Promise<boolean> {
  return typeof PublicKeyCredential === "function" && PublicKeyCredential.isUserVerifyingPlatformAuthenticatorAvailable().catch(() => false);
}

/** How it stands with this device. Throws ApiError. */
export async function verificationState(): Promise<VerificationState> {
  return noteVerification(await authorized<VerificationState>("GET", path()));
}

function path(): string {
  return `/v1/devices/${encodeURIComponent(ownDevice()?.id ?? "")}/verification`;
}

interface Options {
  rp: PublicKeyCredentialRpEntity;
  user: { id: string; name: string; displayName: string };
  challenge: string;
  pubKeyCredParams: PublicKeyCredentialParameters[];
  authenticatorSelection: AuthenticatorSelectionCriteria;
  attestation: AttestationConveyancePreference;
}

/** Has the browser make a credential, which asks its owner, and the broker keep it. Call it from a tap.
 * Throws an Error with words. */
export async function turnOn(): Promise<VerificationState> {
  const device = ownDevice();
  if (!device) throw new Error(w.token);
  const o = await authorized<Options>("POST", path(), {});
  const made = (await asked(
    navigator.credentials.create({
      publicKey: {
        rp: o.rp,
        user: { ...o.user, id: bytes(o.user.id) },
        challenge: bytes(o.challenge),
        pubKeyCredParams: o.pubKeyCredParams,
        authenticatorSelection: o.authenticatorSelection,
        attestation: o.attestation,
        timeout: patience,
      },
    }),
    w.notTurnedOn,
  )) as PublicKeyCredential;
  const response = made.response as AuthenticatorAttestationResponse;
  const credential = {
    id: made.id,
    rawId: text(made.rawId),
    type: made.type,
    response: { clientDataJSON: text(response.clientDataJSON), attestationObject: text(response.attestationObject), transports: response.getTransports?.() ?? [] },
    clientExtensionResults: {},
  };
  const signature = await sign(device.key, ["assent verification v1", device.id, await digest(JSON.stringify(credential))].join("\n"));
  return noteVerification(await authorized<VerificationState>("PUT", path(), { credential, signature }));
}

/** Has the broker forget the credential, which its owner has to confirm once more. */
export async function turnOff(): Promise<VerificationState> {
  const device = ownDevice();
  const { credential } = await verificationState();
  if (!device || !credential) return verificationState();
  const what = ["assent unverify v1", device.id, credential].join("\n");
  await authorized("DELETE", path(), { signature: await sign(device.key, what), verification: await verify(what, undefined, w.notTurnedOff) });
  return verificationState();
}

let turn: Promise<unknown> = Promise.resolve();

/** The proof that the owner of this device was verified for a text. One at a time: a browser asks one
 * question. Where this device has nothing to verify with, undefined, or why is thrown. Throws an Error with
 * words, refusal, if the owner did not want to or ran out of time. */
export function verify(what: string, why?: unknown, refusal: string = w.refused): Promise<Verification | undefined> {
  const next = turn.then(() => prove(what, why, refusal));
  turn = next.catch(() => undefined);
  return next;
}

async function prove(what: string, why: unknown, refusal: string): Promise<Verification | undefined> {
  const { credential } = await verificationState(); // another tab may have turned it on, or off
  if (!credential) {
    if (why) throw why;
    return undefined; // the broker says whether it does without
  }
  const challenge = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(what));
  const got = (await asked(
    navigator.credentials.get({
      publicKey: { challenge, allowCredentials: [{ type: "public-key", id: bytes(credential), transports: ["internal"] }], userVerification: "required", timeout: patience },
    }),
    refusal,
  )) as PublicKeyCredential;
  const response = got.response as AuthenticatorAssertionResponse;
  return { credential: text(got.rawId), authenticatorData: text(response.authenticatorData), clientData: text(response.clientDataJSON), signature: text(response.signature) };
}

/** Browsers do not tell a refusal from a time that ran out. */
async function asked(question: Promise<Credential | null>, refusal: string): Promise<Credential> {
  try {
    const answer = await question;
    if (answer) return answer;
  } catch (e) {
    if (e instanceof ApiError || !(e instanceof DOMException)) throw e;
    if (e.name === "InvalidStateError") throw new Error(w.there);
    if (e.name === "SecurityError" || e.name === "NotSupportedError") throw new Error(w.impossible);
  }
  throw new Error(refusal);
}

function text(b: ArrayBuffer): string {
  return base64url(new Uint8Array(b));
}

function bytes(s: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(s.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
}
