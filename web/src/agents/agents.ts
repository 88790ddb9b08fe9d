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
