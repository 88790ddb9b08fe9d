// The devices that may see or answer what waits, and the way to take one out: one tap, and one
// more in place. Rows keep their height and their place between the two.
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { listDevices, revokeDevice } from "./api";
import { useArm } from "./arm";
import { now } from "./clock";
import { forgetThisBrowser } from "./entry";
import { ApiError, reason, sentence } from "./http";
import { mayRevoke, since } from "./model";
import { ownDevice } from "./session";
import { keepsNothing, waiting } from "./state";
import type { Device } from "./types.gen";
import { visibleLine } from "./visible";

const panelOpen = signal(false);

export function DevicesButton() {
  return (
    <>
      <button type="button" class="small" aria-haspopup="dialog" onClick={() => (panelOpen.value = true)}>
        Devices
      </button>
      {panelOpen.value && <Panel />}
    </>
  );
}

function Panel() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [list, setList] = useState<readonly Device[]>();
  const [error, setError] = useState("");
  const [asked, setAsked] = useState(""); // the id of the row that asks "really?"
  const load = () => {
    setError("");
    listDevices().then((l) => setList(sorted(l)), (e: unknown) => setError(sentence(e)));
  };
  useEffect(() => {
    dialog.current?.showModal();
    load();
    return () => void (panelOpen.value = false); // also when this browser was revoked
  }, []);
  const close = () => dialog.current?.close();
  return (
    <dialog class="devices" ref={dialog} aria-labelledby="devices" onClose={() => (panelOpen.value = false)}>
      <div class="top">
        <h2 id="devices">Devices</h2>
        <button type="button" class="small" onClick={close}>
          Close
        </button>
      </div>
      {waiting.value > 0 && (
        <button type="button" class="more" onClick={close}>
          {waiting.value === 1 ? "1 request waits" : `${waiting.value} requests wait`} · show
        </button>
      )}
      {error && (
        <p class="notice" role="alert">
          {error}{" "}
          <button type="button" class="link" onClick={load}>
            Try again
          </button>
        </p>
      )}
      {!list && !error && <p class="quiet">Asking the broker…</p>}
      {list?.length === 0 && <p class="quiet">No browser is paired.</p>}
      <ul>
        {list?.map((d) => (
          <Row key={d.id} device={d} asked={asked === d.id} ask={(yes) => setAsked(yes ? d.id : "")} />
        ))}
      </ul>
      {list && !ownDevice() && <p class="quiet">This page uses a token, until it is closed.</p>}
      {list && ownDevice() && keepsNothing.value && <p class="quiet">This browser keeps nothing: it stays paired until the page is closed.</p>}
      {list && (
        <p class="quiet">
          {loopback ? (
            <>
              This address leads to this machine only. To add another browser here, run <code>assent pair</code>. For a phone see docs/phone.md.
            </>
          ) : (
            <>
              To add a device, open this address on it, or run <code>assent pair</code> on the machine where assent runs.
            </>
          )}
        </p>
      )}
    </dialog>
  );
}

/** Whether this page's address leads every device to itself. */
const loopback = /^(localhost|127\.[\d.]+|\[::1\])$/.test(location.hostname);

/** This browser first, then by last use. */
function sorted(list: readonly Device[]): Device[] {
  const own = ownDevice()?.id;
  return [...list].sort((a, b) => Number(b.id === own) - Number(a.id === own) || (b.lastUsed ?? "").localeCompare(a.lastUsed ?? ""));
}

const roles: Readonly<Record<string, string>> = { view: "May look", approve: "May answer", admin: "May answer, and revoke any device" };

function Row({ device: d, asked, ask }: { device: Device; asked: boolean; ask(yes: boolean): void }) {
  const own = ownDevice();
  const mine = own?.id === d.id;
  const [state, setState] = useState<"there" | "sending" | "gone">("there");
  const [error, setError] = useState("");
  const revoke = async () => {
    setState("sending");
    setError("");
    const wrong = mine ? await forgetThisBrowser() : await revokeOther(d.id);
    setState(wrong ? "there" : "gone");
    setError(wrong);
    ask(false);
  };
  return (
    <li class={state === "gone" ? "device gone" : "device"}>
      <div class="where">
        <b>{visibleLine(d.name)}</b>
        {mine && <span class="chip">this browser</span>}
      </div>
      <div class="where">{`${roles[d.role] ?? visibleLine(d.role)} · ${used(d, mine)}`}</div>
      <div class="act">
        {state !== "there" ? (
          <span role="status">{state === "sending" ? "Revoking…" : "Revoked. It is signed out."}</span>
        ) : asked ? (
          <Really word={mine ? "Forget now" : "Revoke now"} yes={() => void revoke()} no={() => ask(false)} />
        ) : (
          mayRevoke(own, d) && (
            <button type="button" class="small ask" onClick={() => ask(true)}>
              {mine ? "Forget this browser" : "Revoke"}
            </button>
          )
        )}
      </div>
      {error && (
        <p class="outcome bad" role="alert">
          {mine ? "Not forgotten" : "Not revoked"}: {error}.
        </p>
      )}
    </li>
  );
}

/** Stands where the first button stood, with the harmless choice under the finger; the other
 * one works only after it has stood still for a moment. */
function Really({ word, yes, no }: { word: string; yes(): void; no(): void }) {
  const foot = useRef<HTMLDivElement>(null);
  const keep = useRef<HTMLButtonElement>(null);
  const { armed, ready } = useArm(foot);
  useEffect(() => keep.current?.focus(), []);
  return (
    <div class="really" ref={foot}>
      <button type="button" class="small deny" aria-disabled={!armed} onClick={() => ready() && yes()}>
        {word}
      </button>
      <button type="button" class="small" ref={keep} onClick={no}>
        Keep
      </button>
    </div>
  );
}

async function revokeOther(id: string): Promise<string> {
  try {
    await revokeDevice(id);
    return "";
  } catch (e) {
    return e instanceof ApiError && e.status === 404 && e.fromBroker ? "" : reason(e);
  }
}

function used(d: Device, mine: boolean): string {
  const ago = (at: string) => {
    const ms = now.value - Date.parse(at);
    return ms < 120_000 ? "just now" : `${since(ms)} ago`; // the broker notes minutes
  };
  const last = mine ? "in use" : d.lastUsed ? `used ${ago(d.lastUsed)}` : "never used";
  return `${last} · paired ${ago(d.createdAt)}`;
}
