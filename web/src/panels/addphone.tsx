// How a phone comes to this broker: its address as a QR code, and what to do there. The code holds the
// address only. A browser may pair nobody, so the phone shows a code of its own, which is typed on the
// broker's machine.
import { useEffect, useRef, useState } from "preact/hooks";
import { sentence } from "../broker/http";
import type { PhoneAddress } from "../broker/types.gen";
import { authorized } from "../device/session";
import { Rich } from "../text/rich";
import { visibleLine } from "../text/visible";
import { words } from "../text/words/all";

const w = words.phone;

export function AddPhone() {
  const [open, setOpen] = useState(false);
  return open ? (
    <Steps />
  ) : (
    <button type="button" class="small" data-action="add-phone" onClick={() => setOpen(true)}>
      {w.add}
    </button>
  );
}

function Steps() {
  const [at, setAt] = useState<PhoneAddress>();
  const [error, setError] = useState("");
  const section = useRef<HTMLElement>(null);
  useEffect(() => section.current?.scrollIntoView({ block: "nearest" }), [at]);
  useEffect(() => {
    authorized<PhoneAddress>("GET", "/v1/phone").then(setAt, (e: unknown) => setError(sentence(e)));
  }, []);
  return (
    <section class="add-phone" ref={section} data-ui="add-phone" aria-labelledby="add-phone" aria-busy={!at && !error}>
      <h4 id="add-phone">{w.add}</h4>
      {error && (
        <p class="notice" role="alert">
          {error}
        </p>
      )}
      {at && !at.url && (
        <p>
          <Rich text={w.run} />
        </p>
      )}
      {at?.url && (
        <>
          {at.qr && <Code rows={at.qr} label={w.code(visibleLine(at.url))} />}
          <ol>
            {w.steps(visibleLine(at.url)).map((step) => (
              <li key={step}>
                <Rich text={step} />
              </li>
            ))}
          </ol>
          <p class="quiet">
            <Rich text={w.orRun} />
          </p>
        </>
      )}
    </section>
  );
}

/** A QR code with its white edge, black on white in every theme: cameras want it so. */
function Code({ rows, label }: { rows: readonly string[]; label: string }) {
  const edge = 4;
  const size = rows.length + 2 * edge;
  const black = rows.flatMap((row, y) => [...row.matchAll(/1+/g)].map((m) => `M${m.index + edge} ${y + edge}h${m[0].length}v1h-${m[0].length}z`));
  return (
    <svg class="qr" role="img" aria-label={label} viewBox={`0 0 ${size} ${size}`} shape-rendering="crispEdges">
      <rect width={size} height={size} fill="#fff" />
      <path d={black.join("")} fill="#000" />
    </svg>
  );
}
