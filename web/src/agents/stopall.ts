// Telling all agents of hosts that work to stop, as part of stopping everything.
import { ownDevice } from "../device/session";
import { agents } from "./agents";
import { send } from "./send";

/** Whether this device can tell them anything. */
export function mayStopAgents(): boolean {
  const role = ownDevice()?.role;
  return role === "operate" || role === "admin";
}

/** Sends a cancel, signed by this device, to each session in which a turn runs. What it returns is how many
 * were sent one, and how many could not be. */
export async function stopAgents(): Promise<{ told: number; left: number }> {
  if (!mayStopAgents()) return { told: 0, left: 0 };
  const all = agents.value.flatMap((a) => (a.sessions ?? []).filter((s) => s.status === "busy").map((s) => ({ agent: a.name, sessionId: s.sessionId })));
  let told = 0;
  for (const { agent, sessionId } of all) {
    // One by one: each may ask for the device's owner.
    await send({ host: true, agent, sessionId, kind: "cancel" }).then(
      () => told++,
      () => undefined,
    );
  }
  return { told, left: all.length - told };
}
