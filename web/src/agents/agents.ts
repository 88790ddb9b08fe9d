// The agents that hosts offer, as the broker tells of them, and what somebody began to ask of one.
import { signal } from "@preact/signals";
import type { Agent } from "../broker/types.gen";

/** All of them; empty where no host runs. */
export const agents = signal<readonly Agent[]>([]);

/** A session that is being started, by the name of its agent. */
export interface Start {
  agent: string;
  /** Chosen here: the session's hooks come with it. Empty until it is sent. */
  sessionId: string;
}

/** What the reader is starting; undefined: nothing. */
export const starting = signal<Start | undefined>(undefined);

/** The agent of a host whose session this is, while it has a process. */
export function agentOf(session: string): Agent | undefined {
  return agents.value.find((a) => a.sessions?.some((s) => s.sessionId === session));
}

/** The agents by host, both in the order of their names. */
export function byHost(all: readonly Agent[]): [host: string, agents: Agent[]][] {
  const hosts = new Map<string, Agent[]>();
  for (const a of [...all].sort((a, b) => a.name.localeCompare(b.name))) {
    const host = a.hostname ?? "";
    hosts.set(host, [...(hosts.get(host) ?? []), a]);
  }
  return [...hosts].sort(([a], [b]) => a.localeCompare(b));
}
