// One HTTP call to the broker, and what can come of it.
import { visibleLine } from "../text/visible";
import { words } from "../text/words";
import { noteClock } from "./clock";
import type { Problem } from "./types.gen";

/** An answer that is no success. problem is what the broker said, if it said anything. */
export class ApiError extends Error {
  constructor(
    readonly status: number, // 0: no answer at all
    readonly problem: Partial<Problem>,
  ) {
    super(problem.detail || problem.title || (status === 0 ? words.broker.noAnswer : words.broker.answered(status)));
  }

  /** Whether the broker itself said so: a proxy in front of it has other words for a 404. */
  get fromBroker(): boolean {
    return this.status !== 0 && this.problem.status === this.status;
  }
}

/** What is wrong, for people: in the middle of a sentence, or as one. */
export function reason(e: unknown): string {
  return visibleLine(e instanceof Error ? e.message : String(e)).replaceAll("`", "");
}

export function sentence(e: unknown): string {
  const s = reason(e);
  return s.charAt(0).toUpperCase() + s.slice(1);
}

const timeout = 15_000;

/** The parsed answer, as T; a 202 is undefined: there is nothing yet. Throws ApiError. */
export async function call<T>(method: string, path: string, body?: unknown, token?: string): Promise<T> {
  const headers: Record<string, string> = { accept: "application/json" };
  if (token) headers["authorization"] = `Bearer ${token}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  let response: Response;
  let text: string;
  const sent = Date.now();
  try {
    response = await fetch(path, {
      method,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
      credentials: "omit",
      cache: "no-store",
      redirect: "error",
      signal: AbortSignal.timeout(timeout),
    });
    text = await response.text();
  } catch {
    throw new ApiError(0, {});
  }
  noteClock(response.headers.get("date"), sent, Date.now());
  if (!response.ok) throw new ApiError(response.status, parse(text) as Partial<Problem>);
  return (response.status === 202 ? undefined : parse(text)) as T;
}

function parse(text: string): unknown {
  try {
    return text === "" ? {} : JSON.parse(text);
  } catch {
    return {};
  }
}
