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
  const text = [
    hostId ? "assent message v2" : "assent message v1",
    m.id,
    agent,
    sessionId,
    kind,
    prompt ? await digest(prompt) : "",
    bounds ? await digest(JSON.stringify(bounds)) : "",
    m.expiresAt,
    ...(hostId ? [hostId] : []),
  ].join("\n");
  const path = host ? `/v1/agents/${encodeURIComponent(agent)}/messages` : messagesPath(sessionId);
  await verified<unknown>(path, device ? { ...m, signature: await sign(device.key, text) } : m, text, true);
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
