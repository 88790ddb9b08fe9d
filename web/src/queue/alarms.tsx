// What must not be missed, above everything else: a record that was put back or changed, broken rules, and denials that were overruled.
import { Record } from "../panels/record";
import { Rich, Ticked } from "../text/rich";
import { visibleLine } from "../text/visible";
import { words } from "../text/words/all";
import { sessionName, shownOf } from "./model";
import { overruled, ruleTrouble } from "./state";

const mostProblems = 5;

export function Alarms() {
  return (
    <>
      <Record />
      <BrokenRules />
      <Overruled />
    </>
  );
}

/** Says that a file of rules is broken, as long as it is. */
function BrokenRules() {
  const trouble = ruleTrouble.value;
  if (!trouble) return null;
  const { problems, allowing } = trouble;
  return (
    <div class="rules-broken" data-ui="rules-broken" role="alert">
      <p>
        <b>{allowing ? words.alarms.oldInForce : words.alarms.noneInForce}</b>{" "}
        {allowing ? words.alarms.beforeInForce : words.alarms.everythingWaits}
      </p>
      <ul>
        {problems.slice(0, mostProblems).map((p, i) => (
          <li key={i}>
            <code>
              {visibleLine(p.file)}
              {p.line ? `:${p.line}${p.column ? `:${p.column}` : ""}` : ""}
            </code>{" "}
            <Ticked text={visibleLine(p.message)} />
          </li>
        ))}
        {problems.length > mostProblems && <li>{words.alarms.more(problems.length - mostProblems)}</li>}
      </ul>
    </div>
  );
}

function Overruled() {
  return (
    <div class="alarms">
      {overruled.value.map((i) => (
        <div class="overruled" data-ui="overruled" role="alert" key={i.request.id}>
          <p>
            <Rich text={i.request.contained ? words.alarms.overruledContained : i.request.outcome === "allowed" ? words.alarms.overruledEdit : words.alarms.overruled} put={{ what: shownOf(i)?.verb ?? visibleLine(i.request.toolName), where: visibleLine(sessionName(i.request)) }} />
          </p>
          <button type="button" onClick={() => (overruled.value = overruled.value.filter((o) => o !== i))}>
            {words.desk.seen}
          </button>
        </div>
      ))}
    </div>
  );
}
