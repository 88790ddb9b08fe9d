// The wait for somebody to type this page's code on the machine: asks the broker again and
// again, also after a sleep, until it says yes or no. No signals and no storage here.
import { ApiError } from "../broker/http";

export interface Handlers<Made> {
  paired(made: Made): void;
  /** The broker does not take the code any more. */
  over(): void;
  /** Whether the broker answers at all. */
  silent(yes: boolean): void;
}

const every = 2_000;
const longest = 15_000;

export class Wait<Made> {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private failures = 0;
  private generation = 0; // answers to earlier questions are ignored
  private readonly ended = new AbortController(); // takes the listeners away

  /** ask resolves to undefined while nobody has confirmed, and rejects with a 403 when nobody
   * can any more. */
  constructor(
    private readonly ask: () => Promise<Made | undefined>,
    private readonly on: Handlers<Made>,
  ) {}

  start(): void {
    const { signal } = this.ended;
    const again = () => void this.again();
    // A sleeping phone stops timers and loses what was on its way.
    addEventListener("online", again, { signal });
    addEventListener("pageshow", again, { signal });
    document.addEventListener("visibilitychange", () => document.hidden || again(), { signal });
    again();
  }

  stop(): void {
    this.generation++;
    clearTimeout(this.timer);
    this.ended.abort();
  }

  private async again(): Promise<void> {
    const generation = ++this.generation;
    clearTimeout(this.timer);
    let made: Made | undefined;
    try {
      made = await this.ask();
      if (generation !== this.generation) return;
      this.failures = 0;
    } catch (e) {
      if (generation !== this.generation) return;
      if (e instanceof ApiError && e.status === 403 && e.fromBroker) {
        this.stop();
        return this.on.over();
      }
      this.failures++;
    }
    if (made) {
      this.stop();
      return this.on.paired(made);
    }
    this.on.silent(this.failures > 0);
    this.timer = setTimeout(() => void this.again(), Math.min(longest, every * 2 ** Math.min(this.failures, 5)));
  }
}
