// What the rules read in a request: why none answered, what cannot be checked automatically, and the
// commands one by one.
import type { PermissionRequest, Unit } from "../broker/types.gen";
import { Ticked } from "../text/rich";
import { visibleLine } from "../text/visible";
import { words } from "../text/words";
import { unitsOf } from "./reading";

export function Read({ request: r }: { request: PermissionRequest }) {
  const units = unitsOf(r);
  const v = r.verdict?.action === "ask" ? r.verdict : undefined;
  const shadow = v?.shadow?.[0];
  return (
    <>
      {v && !v.rule && v.reason && (
        <p class="remark">
          <Ticked text={words.rules.notAnswered(visibleLine(v.reason))} />
        </p>
      )}
      {shadow && <p class="remark">{words.rules.trial(visibleLine(shadow.rule), shadow.action)}</p>}
      {r.doubts?.map((d, i) => (
        <p class="remark" key={i}>
          <Ticked text={words.shell.doubt(d.why)} />
        </p>
      ))}
      {units.length > 0 && (
        <div class="units" data-ui="units">
          <ol>
            {units.map((u, i) => (
              <li key={i}>
                <One unit={u} />
              </li>
            ))}
          </ol>
          {r.moreUnits && <p class="remark">{words.shell.others(r.moreUnits)}</p>}
        </div>
      )}
    </>
  );
}

function One({ unit: u }: { unit: Unit }) {
  return (
    <>
      <span class="does">{u.guessed ? words.shell.perhaps(words.shell.does[u.kind]) : words.shell.does[u.kind]}</span> <code>{u.text || "…"}</code>{" "}
      {!!u.via?.length && <small>{words.shell.via(u.via.join(" › "))}</small>}{" "}
      {u.dir && <small>{words.shell.dir(u.dir)}</small>}{" "}
      {u.dirUnknown && <small>{words.shell.dirUnknown}</small>}
    </>
  );
}
