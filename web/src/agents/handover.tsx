// Hands a session of a host over to a terminal there: asks first, and then shows the command that goes on.
import { useEffect, useRef, useState } from "preact/hooks";
import { reason } from "../broker/http";
import type { Message } from "../broker/types.gen";
import { useClosing } from "../panels/closing";
import { visibleLine } from "../text/visible";
import { laterWords } from "../text/words/later";
import { send } from "./send";

const w = laterWords.handover;

/** The newest handover of a session, unless a message went on with it since. own are its messages, the
 * oldest first. */
export function handoverOf(own: readonly Message[]): Message | undefined {
  const last = own.filter((m) => m.kind === "handover" || (m.kind === "resume" && (m.state === "started" || m.state === "ended"))).pop();
  return last?.kind === "handover" ? last : undefined;
}

/** Whether a terminal has the session, as far as its messages say. */
export function handedOver(own: readonly Message[]): boolean {
  return handoverOf(own)?.outcome === "completed";
}

interface Props {
  agent: string;
  session: string;
  own: readonly Message[];
}

export function Handover({ agent, session, own }: Props) {
  const [asked, setAsked] = useState(false);
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState("");
  const m = handoverOf(own);
  const go = async () => {
    if (busy) return;
    setBusy(true);
    setTrouble("");
    try {
      await send({ host: true, agent, sessionId: session, kind: "handover" });
      setAsked(false);
    } catch (e) {
      setTrouble(w.failed(reason(e)));
    }
    setBusy(false);
  };
  if (m?.state === "ended" && m.outcome === "completed" && m.command) return <Ready command={m.command} />;
  if (m && (m.state === "sent" || m.state === "taken" || m.state === "started")) {
    return (
      <p class="quiet" role="status" data-ui="handover" data-state={m.state}>
        {w.waiting}
      </p>
    );
  }
  const why = m?.steps[m.steps.length - 1]?.why;
  return (
    <div class="handover" data-ui="handover" data-state={m?.state ?? "none"}>
      {m && <p role="status">{why ? w.failed(visibleLine(why)) : w.none}</p>}
      {trouble && (
        <p class="notice" role="alert">
          {trouble}
        </p>
      )}
      {!asked ? (
        <button type="button" class="link" data-action="handover" onClick={() => setAsked(true)}>
          {w.head}
        </button>
      ) : (
        <Ask busy={busy} yes={() => void go()} no={() => setAsked(false)} />
      )}
    </div>
  );
}

function Ask({ busy, yes, no }: { busy: boolean; yes(): void; no(): void }) {
  const panel = useRef<HTMLDivElement>(null);
  useEffect(() => panel.current?.focus({ preventScroll: true }), []);
  useClosing(panel, no);
  return (
    <div ref={panel} tabIndex={-1}>
      <p>{w.ask}</p>
      <p class="act">
        <button type="button" class="small" data-action="no-handover" onClick={no}>
          {w.cancel}
        </button>
        <button type="button" class="small" data-action="confirm-handover" disabled={busy} onClick={yes}>
          {w.confirm}
        </button>
      </p>
    </div>
  );
}

/** The command, to be copied as it is shown: one that cannot be shown as it is, is not offered. */
function Ready({ command }: { command: string }) {
  const [said, say] = useState("");
  const shown = visibleLine(command);
  const copy = () =>
    navigator.clipboard.writeText(command).then(
      () => say(w.copied),
      () => say(w.notCopied),
    );
  return (
    <div class="handover" data-ui="handover" data-state="ended">
      <h3>{w.ready}</h3>
      <pre tabIndex={0}>{shown}</pre>
      <p class="act">
        <span role="status">{said}</span>
        {shown === command && (
          <button type="button" class="small" data-action="copy-command" onClick={() => void copy()}>
            {w.copy}
          </button>
        )}
      </p>
      <p class="quiet">{w.back}</p>
    </div>
  );
}
