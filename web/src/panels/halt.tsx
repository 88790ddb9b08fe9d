// Stops or pauses everything, and says above everything else that somebody did.
import { useState } from "preact/hooks";
import { agents } from "../agents/agents";
import { now } from "../broker/clock";
import { ApiError, reason } from "../broker/http";
import type { Halt } from "../broker/types.gen";
import { sign } from "../device/device";
import { authorized, mayDecide, ownDevice } from "../device/session";
import { halt } from "../queue/state";
import { Rich } from "../text/rich";
import { visibleLine } from "../text/visible";
import { words } from "../text/words";
import { laterWords } from "../text/words/later";
import { Sure } from "./devices";

const w = laterWords.halt;

type Act = "stop" | "lift" | "pause" | "resume";
type Done = Halt & { denied?: number; left?: number };

/** Does it, signed by this device, on the state as the broker has it now. A stop is what somebody
 * wants whatever the state has become meanwhile; all else is not. Throws Unpaired, ApiError. */
async function act(what: Act, seconds = 0): Promise<Done> {
  const path = what === "stop" || what === "lift" ? "/v1/stop" : "/v1/pause";
  const method = what === "stop" || what === "pause" ? "POST" : "DELETE";
  for (let attempt = 1; ; attempt++) {
    const { revision } = await authorized<Halt>("GET", path);
    const device = ownDevice();
    const body = {
      ...(what === "pause" ? { seconds } : {}),
      revision,
      ...(device ? { signature: await sign(device.key, ["assent halt v1", what, String(revision), String(seconds)].join("\n")) } : {}),
    };
    try {
      const done = await authorized<Done>(method, path, body);
      halt.value = done;
      return done;
    } catch (e) {
      if (what !== "stop" || attempt === 3 || !(e instanceof ApiError) || e.problem.reason !== "changed") throw e;
    }
  }
}

/** One act under way, and what came of it. */
function useAct() {
  const [asked, setAsked] = useState<Act | undefined>();
  const [busy, setBusy] = useState(false);
  const [said, say] = useState("");
  const [error, setError] = useState("");
  const go = (what: Act, seconds?: number) => {
    setAsked(undefined);
    setBusy(true);
    setError("");
    say(what === "stop" ? w.stopping : words.oneMoment);
    act(what, seconds)
      .then(
        (d) => {
          say(what === "stop" ? w.denied(d.denied ?? 0) : what === "lift" ? w.lifted : what === "resume" ? w.resumed : "");
          if (d.left) setError(w.left(d.left));
        },
        (e: unknown) => {
          say("");
          setError(e instanceof ApiError && e.problem.reason === "changed" ? w.changed : w.failed(reason(e)));
        },
      )
      .finally(() => setBusy(false));
  };
  return { asked, setAsked, busy, said, error, go };
}

/** Who stopped or paused everything, and the way to end that. */
export function Halted() {
  const a = useAct();
  const { stopped, paused } = halt.value ?? {};
  const pausing = paused?.until && Date.parse(paused.until) > now.value ? paused : undefined;
  const what = stopped ?? pausing;
  if (!what) return null;
  const who = visibleLine(what.by.name || what.by.kind);
  const end: Act = stopped ? "lift" : "resume";
  return (
    <div class="rules-broken halted" data-ui="halted" data-state={stopped ? "stopped" : "paused"} role="alert">
      <p>
        <Rich text={stopped ? w.stopped("{at}", "{who}") : w.paused("{at}", "{who}")} put={{ at: clock(stopped ? what.at : what.until!), who }} />
      </p>
      {a.error && <p role="alert">{a.error}</p>}
      {mayDecide() && (
        <div class="act-row">
          {a.asked ? (
            <Sure word={w.liftNow} keep={w.cancel} yes={() => a.go(end)} no={() => a.setAsked(undefined)} />
          ) : (
            <button type="button" class="small" data-action="lift" disabled={a.busy} onClick={() => a.setAsked(end)}>
              {w.lift}
            </button>
          )}
        </div>
      )}
    </div>
  );
}

/** The section of the settings. */
export function StopAndPause() {
  const a = useAct();
  const may = mayDecide();
  return (
    <div class="notify" data-ui="stop" aria-busy={a.busy}>
      <Halted />
      {!may && <p class="notice">{w.notAllowed}</p>}
      {a.error && (
        <p class="notice" role="alert">
          {a.error}
        </p>
      )}
      <h4>{w.stopHead}</h4>
      <p class="quiet">{w.stopWhy}</p>
      {agents.value.length > 0 && <p class="quiet">{w.agentsToo}</p>}
      {may && (
        <div class="act-row">
          {a.asked === "stop" ? (
            <Sure word={w.stopNow} keep={w.cancel} yes={() => a.go("stop")} no={() => a.setAsked(undefined)} />
          ) : (
            <button type="button" class="small ask" data-action="stop" disabled={a.busy} onClick={() => a.setAsked("stop")}>
              {w.stop}
            </button>
          )}
        </div>
      )}
      <h4>{w.pauseHead}</h4>
      <p class="quiet">{w.pauseWhy}</p>
      {may && !halt.value?.stopped && (
        <div class="act-row">
          {Object.entries(w.pauses).map(([seconds, time]) => (
            <button type="button" class="small" data-action="pause" key={seconds} disabled={a.busy} onClick={() => a.go("pause", Number(seconds))}>
              {w.pauseFor(time)}
            </button>
          ))}
        </div>
      )}
      <p role="status" class="quiet">
        {a.said}
      </p>
    </div>
  );
}

/** A moment, with the day where that is not today's. */
function clock(at: string): string {
  const d = new Date(at);
  const today = d.toDateString() === new Date(now.value).toDateString();
  return today ? d.toLocaleTimeString([], { timeStyle: "short" }) : d.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
}
