// The devices that wait to be paired, on a device of role admin: it lets them in, by its own signature.
import { useEffect, useState } from "preact/hooks";
import { verified } from "../broker/api";
import { reason } from "../broker/http";
import type { PairingWaiting, Role } from "../broker/types.gen";
import { sign } from "../device/device";
import { authorized, ownDevice } from "../device/session";
import { visibleLine } from "../text/visible";
import { words } from "../text/words/all";
import { Sure } from "./devices";

const w = words.letIn;
const pause = 3000; // ms between two looks at who waits
const roles = ["view", "approve", "operate", "admin"] as const;

/** Nothing for a device that is no administrator, and while nobody waits. */
export function LetIn({ changed }: { changed(): void }) {
  const [list, setList] = useState<readonly PairingWaiting[]>([]);
  const [done, setDone] = useState("");
  const admin = ownDevice()?.role === "admin";
  useEffect(() => {
    if (!admin) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let gone = false;
    const look = async () => {
      const waiting = await authorized<PairingWaiting[]>("GET", "/v1/pair").catch(() => undefined);
      if (gone) return;
      if (waiting) setList(waiting);
      timer = setTimeout(() => void look(), pause);
    };
    void look();
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [admin]);
  const over = (said: string, code: string) => {
    setDone(said);
    setList((l) => l.filter((d) => d.code !== code));
    changed();
  };
  if (!admin) return null;
  return (
    <>
      {list.length > 0 && (
        <section data-ui="let-in" aria-labelledby="let-in">
          <h4 id="let-in">{w.head}</h4>
          <ul>
            {list.map((d) => (
              <Row key={d.code} waiting={d} over={over} />
            ))}
          </ul>
        </section>
      )}
      <p role="status">{done}</p>
    </>
  );
}

function Row({ waiting: d, over }: { waiting: PairingWaiting; over(said: string, code: string): void }) {
  const [role, setRole] = useState<Role>("approve");
  const [asked, setAsked] = useState(false);
  const [error, setError] = useState("");
  const name = d.name ? visibleLine(d.name) : w.unnamed;
  const act = (what: Promise<unknown>, said: string) => {
    setError("");
    setAsked(false);
    what.then(
      () => over(said, d.code),
      (e: unknown) => setError(w.failed(reason(e))),
    );
  };
  return (
    <li class="device" data-ui="waiting" data-code={d.code}>
      <div class="where">
        <b>{w.callsItself(name)}</b>
        {d.codeOrigin && <span class="chip" data-ui="code">{words.devices.code[d.codeOrigin]}</span>}
      </div>
      <div class="where">{d.from ? w.from(visibleLine(d.from)) : w.fromNowhere}</div>
      <p>{w.shows(d.code)}</p>
      <label>
        {w.role}{" "}
        <select value={role} onChange={(e) => setRole(e.currentTarget.value as Role)}>
          {roles.map((r) => (
            <option key={r} value={r}>
              {words.devices.roles[r]}
            </option>
          ))}
        </select>
      </label>
      {(role === "operate" || role === "admin") && <p class="quiet">{w.shell}</p>}
      <div class="act">
        {asked ? (
          <Sure word={w.now} keep={words.halt.cancel} yes={() => act(letIn(d, role), w.done(name))} no={() => setAsked(false)} />
        ) : (
          <>
            <button type="button" class="small" data-action="refuse" onClick={() => act(authorized("DELETE", `/v1/pair/${encodeURIComponent(d.code)}`), w.refused(name))}>
              {w.refuse}
            </button>
            <button type="button" class="small ask" data-action="let-in" onClick={() => setAsked(true)}>
              {w.letIn}
            </button>
          </>
        )}
      </div>
      {error && (
        <p class="outcome bad" role="alert">
          {error}
        </p>
      )}
    </li>
  );
}

/** Lets a device in, signed by this one. Throws Unpaired, ApiError, and an Error where its owner was not verified. */
async function letIn({ code, publicKey }: PairingWaiting, role: Role): Promise<void> {
  const device = ownDevice();
  if (!device) return;
  const text = ["assent pair v1", code, publicKey.x, publicKey.y, role, ""].join("\n");
  await verified("/v1/devices", { code, role, signature: await sign(device.key, text) }, text, true);
}
