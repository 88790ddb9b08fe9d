// Says above everything else that the broker's record is not the one that this browser has seen.
import { useState } from "preact/hooks";
import { recordAlarm } from "../queue/state";
import { Rich } from "../text/rich";
import { visibleLine, visibleText } from "../text/visible";
import { laterWords } from "../text/words/later";
import { Sure } from "./devices";

const w = laterWords.record;

export function Record() {
  const [asked, ask] = useState(false);
  const alarm = recordAlarm.value;
  if (!alarm) return null;
  const put =
    alarm.what === "stopped" || alarm.what === "late" || alarm.what === "unsigned"
      ? { why: visibleLine(alarm.why) }
      : { seen: clock(alarm.seen?.time), had: alarm.seen?.size, now: clock(alarm.now?.time), has: alarm.now?.size };
  return (
    <div class="rules-broken" data-ui="record" data-state={alarm.what} role="alert">
      <p>
        <b>{w[alarm.what]}</b> <Rich text={w.why[alarm.what]} put={put} />
      </p>
      <p>
        <Rich text={alarm.what === "late" ? w.askLate : w.ask} />
      </p>
      {alarm.what !== "stopped" && alarm.what !== "late" && alarm.what !== "unsigned" && (
        <>
          <details>
            <summary>{w.kept}</summary>
            <pre tabIndex={0}>{visibleText(alarm.note)}</pre>
          </details>
          <div class="act-row">
            {asked ? (
              <Sure
                word={w.acceptNow}
                keep={w.cancel}
                yes={() => {
                  ask(false);
                  alarm.accept();
                }}
                no={() => ask(false)}
              />
            ) : (
              <button type="button" class="small" data-action="accept" onClick={() => ask(true)}>
                {w.accept}
              </button>
            )}
          </div>
        </>
      )}
    </div>
  );
}

function clock(at: string | undefined): string {
  const d = new Date(at ?? "");
  return Number.isNaN(d.getTime()) ? w.someday : d.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
}
