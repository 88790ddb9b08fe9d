// The devices that may see or answer what waits, and the way to take one out: one tap, and one
// more in place. Rows keep their height and their place between the two.
import { useEffect, useRef, useState } from "preact/hooks";
import { listDevices, revokeDevice } from "../broker/api";
import { now } from "../broker/clock";
import { ApiError, reason, sentence } from "../broker/http";
import type { Device } from "../broker/types.gen";
import { forgetThisBrowser } from "../device/entry";
import { authorized, ownDevice } from "../device/session";
import { useArm } from "../queue/arm";
import { mayRevoke, since } from "../queue/model";
import { keepsNothing } from "../queue/state";
import { Rich } from "../text/rich";
import { visibleLine } from "../text/visible";
import { words } from "../text/words/all";
import { AddPhone } from "./addphone";
import { useClosing } from "./closing";
import { LetIn } from "./letin";
import { VerificationSwitch } from "./verification";

export function Devices() {
  const [list, setList] = useState<readonly Device[]>();
  const [error, setError] = useState("");
  const [asked, setAsked] = useState(""); // the id of the row that asks "really?"
  const load = () => {
    setError("");
    listDevices().then((l) => setList(sorted(l)), (e: unknown) => setError(sentence(e)));
  };
  useEffect(load, []);
  return (
    <>
      {error && (
        <p class="notice" role="alert">
          {error}{" "}
          <button type="button" class="link" onClick={load}>
            {words.tryAgain}
          </button>
        </p>
      )}
      {!list && !error && <p class="quiet">{words.devices.asking}</p>}
      {list?.length === 0 && <p class="quiet">{words.devices.none}</p>}
      <ul>
        {list?.map((d) => (
          <Row key={d.id} device={d} asked={asked === d.id} ask={(yes) => setAsked(yes ? d.id : "")} renamed={load} />
        ))}
      </ul>
      <LetIn changed={load} />
      <VerificationSwitch changed={load} />
      {!!list?.length && <p class="quiet">{words.devices.codeHelp}</p>}
      {list && !ownDevice() && <p class="quiet">{words.devices.token}</p>}
      {list && ownDevice() && keepsNothing.value && <p class="quiet">{words.devices.keepsNothing}</p>}
      {list && <AddPhone />}
      {list && (
        <p class="quiet">
          <Rich text={loopback ? words.devices.addHere : words.devices.addThere} />
        </p>
      )}
    </>
  );
}

/** Whether this page's address leads every device to itself. */
const loopback = /^(localhost|127\.[\d.]+|\[::1\])$/.test(location.hostname);

/** This browser first, then by last use. */
function sorted(list: readonly Device[]): Device[] {
  const own = ownDevice()?.id;
  return [...list].sort((a, b) => Number(b.id === own) - Number(a.id === own) || (b.lastUsed ?? "").localeCompare(a.lastUsed ?? ""));
}

function Row({ device: d, asked, ask, renamed }: { device: Device; asked: boolean; ask(yes: boolean): void; renamed(): void }) {
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
    <li class={state === "gone" ? "device gone" : "device"} data-ui="device">
      <div class="where">
        <b><bdi>{visibleLine(d.name)}</bdi></b>
        {mine && <span class="chip">{words.devices.thisBrowser}</span>}
        {d.codeOrigin && <span class="chip" data-ui="code">{words.devices.code[d.codeOrigin]}</span>}
        {d.verifies && <span class="chip">{words.verify.chip}</span>}
      </div>
      <div class="where">{`${words.devices.roles[d.role] ?? visibleLine(d.role)} · ${used(d, mine)}`}</div>
      <div class="act">
        {state !== "there" ? (
          <span role="status">{state === "sending" ? words.devices.revoking : words.devices.revoked}</span>
        ) : asked ? (
          <Sure word={mine ? words.devices.forgetNow : words.devices.revokeNow} yes={() => void revoke()} no={() => ask(false)} />
        ) : (
          mayRevoke(own, d) && (
            <button type="button" class="small ask" data-action="revoke" onClick={() => ask(true)}>
              {mine ? words.devices.forgetThis : words.devices.revoke}
            </button>
          )
        )}
      </div>
      {mayRevoke(own, d) && <Rename device={d} there={state === "there"} done={renamed} />}
      {error && (
        <p class="outcome bad" role="alert">
          {mine ? words.devices.notForgotten(error) : words.devices.notRevoked(error)}
        </p>
      )}
    </li>
  );
}

/** Gives the device another name. The button keeps its place when the device is gone. */
function Rename({ device: d, there, done }: { device: Device; there: boolean; done(): void }) {
  const [open, setOpen] = useState(false);
  const w = words.rename;
  if (open && there) return <NewName device={d} close={() => setOpen(false)} done={done} />;
  return (
    <button type="button" class="link" data-action="rename" disabled={!there} onClick={() => setOpen(true)}>
      {w.rename}
    </button>
  );
}

function NewName({ device: d, close, done }: { device: Device; close(): void; done(): void }) {
  const [name, setName] = useState(d.name);
  const [error, setError] = useState("");
  const form = useRef<HTMLFormElement>(null);
  const w = words.rename;
  useEffect(() => form.current?.querySelector("input")?.focus(), []);
  useClosing(form, close, "[data-action=rename]");
  const save = (e: Event) => {
    e.preventDefault();
    setError("");
    authorized("PATCH", `/v1/devices/${encodeURIComponent(d.id)}`, { name: name.trim() }).then(
      () => {
        close();
        done();
      },
      (wrong: unknown) => setError(w.failed(reason(wrong))),
    );
  };
  return (
    <form class="act-row" data-ui="rename" ref={form} onSubmit={save}>
      <label>
        {w.name} <input name="name" required maxLength={100} value={name} onInput={(e) => setName(e.currentTarget.value)} />
      </label>
      <button type="submit" class="small" data-action="save-name">
        {w.save}
      </button>
      <button type="button" class="small" onClick={close}>
        {words.halt.cancel}
      </button>
      {error && <p role="alert">{error}</p>}
    </form>
  );
}

/** Stands where the first button stood, with the harmless choice under the finger; the other
 * one works only after it has stood still for a moment. */
export function Sure({ word, look = "deny", keep: other = words.devices.keep, yes, no }: { word: string; look?: "deny" | "allow"; keep?: string; yes(): void; no(): void }) {
  const foot = useRef<HTMLDivElement>(null);
  const keep = useRef<HTMLButtonElement>(null);
  const { armed, ready } = useArm(foot);
  useEffect(() => keep.current?.focus(), []);
  useClosing(foot, no);
  return (
    <div class="really" data-ui="sure" ref={foot}>
      <button type="button" class={`small ${look}`} data-action="yes" aria-disabled={!armed} onClick={() => ready() && yes()}>
        {word}
      </button>
      <button type="button" class="small" ref={keep} onClick={no}>
        {other}
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
    return ms < 120_000 ? words.time.justNow : words.time.ago(since(ms)); // the broker notes minutes
  };
  const last = mine ? words.devices.inUse : d.lastUsed ? words.devices.used(ago(d.lastUsed)) : words.devices.neverUsed;
  return words.devices.paired(last, ago(d.createdAt));
}
