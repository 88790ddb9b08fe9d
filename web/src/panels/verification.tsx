// Whether this device asks for its owner before it allows what is dangerous: a switch, and the question
// after pairing.
import { useEffect, useState } from "preact/hooks";
import { sentence } from "../broker/http";
import type { VerificationState } from "../broker/types.gen";
import { mayDecide, ownDevice } from "../device/session";
import { canVerify, turnOff, turnOn, verificationState } from "../device/verify";
import { visibleLine } from "../text/visible";
import { words } from "../text/words/all";
import { prefer, preferences } from "./preferences";
import { Switch } from "./switch";

const w = words.verify;

/** The state, and what changes it; say is what became of the last change. */
function useVerification(changed?: () => void) {
  const [state, setState] = useState<VerificationState>();
  const [able, setAble] = useState<boolean>();
  const [busy, setBusy] = useState(false);
  const [said, say] = useState("");
  const [error, setError] = useState("");
  useEffect(() => {
    void canVerify().then(setAble);
    verificationState().then(setState, (e: unknown) => setError(sentence(e)));
  }, []);
  const set = (on: boolean) => {
    setBusy(true);
    setError("");
    say(w.asking);
    (on ? turnOn() : turnOff())
      .then(
        (s) => {
          setState(s);
          say(on ? w.on : w.off);
          changed?.();
        },
        (e: unknown) => {
          say("");
          setError(`${sentence(e).replace(/\.$/, "")}.`);
        },
      )
      .finally(() => setBusy(false));
  };
  return { state, able, busy, said, error, set };
}

/** The switch, under this browser's devices. */
export function VerificationSwitch({ changed }: { changed(): void }) {
  const { state, able, busy, said, error, set } = useVerification(changed);
  if (!ownDevice() || !mayDecide()) return null;
  const on = !!state?.credential;
  const why = state?.why ? visibleLine(state.why) : able === false && !on ? w.cannot : "";
  return (
    <div class="verify" data-ui="verify" data-state={on ? "on" : "off"} aria-busy={busy}>
      <Switch on={on} disabled={busy || !state || (!on && (why !== "" || able !== true))} label={w.label} why={why === "" ? w.why : `${why[0]!.toUpperCase()}${why.slice(1).replace(/\.$/, "")}.`} set={set} />
      {state?.require && <p class="quiet">{state.require === "always" ? w.requiredAlways : w.required}</p>}
      {on && state?.createdAt && (
        <p class="quiet">
          {w.since(new Date(state.createdAt).toLocaleDateString())} {state.synced && w.synced}
        </p>
      )}
      {error && (
        <p class="notice" role="alert">
          {error}
        </p>
      )}
      <p role="status" class="quiet">
        {said}
      </p>
    </div>
  );
}

/** Asks once, on a phone that can, where nothing waits. */
export function VerificationOffer() {
  const { state, able, busy, said, error, set } = useVerification();
  if (!able || !mayDecide() || !state || state.why || (state.credential && said !== w.on) || !preferences.value.verify) return null;
  return (
    <div class="verify notice" data-ui="verify-offer" aria-busy={busy}>
      <h3>{w.offerHead}</h3>
      <p>{w.offer}</p>
      {error && <p role="alert">{error}</p>}
      {state.credential ? (
        <p role="status">{said}</p>
      ) : (
        <div class="act-row">
          <button type="button" class="allow" data-action="verify-on" disabled={busy} onClick={() => set(true)}>
            {w.turnOn}
          </button>
          <button type="button" class="small" data-action="verify-never" disabled={busy} onClick={() => prefer({ verify: false })}>
            {w.notHere}
          </button>
        </div>
      )}
    </div>
  );
}
