// What is sent to an agent, signed by this device: to a session in a terminal, or to an agent of a host.
import { verified } from "../broker/api";
import { digest } from "../broker/digest";
import type { Message } from "../broker/types.gen";
import { sign } from "../device/device";
import { authorized, ownDevice } from "../device/session";
import { agents } from "./agents";
import { hostOf } from "./host";

type MessageOptions = NonNullable<Message["options"]>;

const life = 600_000; // ms: until when a message may be handed over

/** A message to be sent. host says that its agent is one of a host, and not a session in a terminal. */
export interface Sending {
  host: boolean;
  agent: string;
  sessionId: string;
  kind: Message["kind"];
  prompt?: string;
  options?: MessageOptions;
}

/** Sends a message; the broker tells of it as of any other. Throws Unpaired, ApiError, and an Error where the device's owner was not verified,
 * and where the agent's host is not the one that is shown. */
export async function send({ host, agent, sessionId, kind, prompt = "", options }: Sending): Promise<void> {
  const bounds = ordered(options);
  const hostId = host ? hostOf(agents.value.find((a) => a.name === agent)) : "";
  const m = {
    id: crypto.randomUUID(),
    agent,
    kind,
    ...(prompt ? { prompt } : {}),
    ...(bounds ? { options: bounds } : {}),
    expiresAt: new Date(Date.now() + life).toISOString().replace(/\.\d+/, ""),
    ...(host ? { sessionId } : {}),
    ...(hostId ? { hostId } : {}),
  };
  const device = ownDevice();
  const text = await messageText({ ...m, sessionId });
  const path = host ? `/v1/agents/${encodeURIComponent(agent)}/messages` : messagesPath(sessionId);
  await verified<unknown>(path, device ? { ...m, signature: await sign(device.key, text) } : m, text, true);
}

/** What a device signs of a message. */
async function messageText(m: Pick<Message, "id" | "agent" | "sessionId" | "kind" | "prompt" | "options" | "expiresAt" | "hostId">): Promise<string> {
  const bounds = ordered(m.options);
  return [
    m.hostId ? "assent message v2" : "assent message v1",
    m.id,
    m.agent,
    m.sessionId,
    m.kind,
    m.prompt ? await digest(m.prompt) : "",
    bounds ? await digest(JSON.stringify(bounds)) : "",
    m.expiresAt,
    ...(m.hostId ? [m.hostId] : []),
  ].join("\n");
}

/** How it is with a message's signature. gone: the text that was signed was forgotten. */
export type Signed = "verified" | "wrong" | "none" | "gone";

/** Holds a message against its signature and the key that it names, here and not at the broker. */
export async function checkSignature(m: Message): Promise<Signed> {
  if (!m.publicKey) return "none";
  if (!m.prompt && (m.kind === "prompt" || m.kind === "resume")) return "gone";
  if (!m.signature) return "none";
  try {
    const { kty, crv, x, y } = m.publicKey;
    const key = await crypto.subtle.importKey("jwk", { kty, crv, x, y }, { name: "ECDSA", namedCurve: "P-256" }, false, ["verify"]);
    const signature = Uint8Array.from(atob(m.signature.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    const right = await crypto.subtle.verify({ name: "ECDSA", hash: "SHA-256" }, key, signature, new TextEncoder().encode(await messageText(m)));
    return right ? "verified" : "wrong";
  } catch {
    return "wrong";
  }
}

export function messagesPath(session: string): string {
  return `/v1/sessions/${encodeURIComponent(session)}/messages`;
}

/** Takes back what nobody has taken yet. Throws Unpaired, and ApiError: where somebody has, its new state is on
 * its way. */
export function takeBack(m: Message): Promise<Message> {
  return authorized<Message>("DELETE", `${messagesPath(m.sessionId)}/${m.id}`);
}

/** The options in the order in which they are signed, without those that say nothing. */
function ordered(o: MessageOptions | undefined): MessageOptions | undefined {
  const bounds: MessageOptions = {};
  if (o?.budgetUsd) bounds.budgetUsd = o.budgetUsd;
  if (o?.timeoutSeconds) bounds.timeoutSeconds = o.timeoutSeconds;
  if (o?.autoPr) bounds.autoPr = true;
  return Object.keys(bounds).length > 0 ? bounds : undefined;
}
