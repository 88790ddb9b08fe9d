// What must not be missed, above everything else: broken rules, and denials that were overruled.
import { Rich, Ticked } from "../text/rich";
import { visibleLine } from "../text/visible";
import { words } from "../text/words";
import { sessionName, shownOf } from "./model";
import { arrivalTrouble, overruled, ruleTrouble } from "./state";

const mostProblems = 5;

/** Says that a file of rules is broken, as long as it is. */
export function BrokenRules() {
  const trouble = ruleTrouble.value;
  if (!trouble) return null;
  const { problems, allowing } = trouble;
  return (
    <div class="rules-broken" data-ui="rules-broken" role="alert">
      <p>
        <b>{allowing ? words.rules.oldInForce : words.rules.noneInForce}</b>{" "}
        {allowing ? words.rules.beforeInForce : words.rules.everythingWaits}
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
        {problems.length > mostProblems && <li>{words.rules.more(problems.length - mostProblems)}</li>}
      </ul>
    </div>
  );
}

export function Overruled() {
  return (
    <div class="alarms">
      {overruled.value.map((i) => (
        <div class="overruled" data-ui="overruled" role="alert" key={i.request.id}>
          <p>
            <Rich text={i.request.contained ? words.desk.overruledContained : i.request.outcome === "allowed" ? words.desk.overruledEdit : words.desk.overruled} put={{ what: shownOf(i)?.verb ?? visibleLine(i.request.toolName), where: visibleLine(sessionName(i.request)) }} />
          </p>
          <button type="button" onClick={() => (overruled.value = overruled.value.filter((o) => o !== i))}>
            {words.desk.seen}
          </button>
        </div>
      ))}
    </div>
  );
}

/** Why what a link or a notification led to is not here. */
export function Arrival() {
  if (!arrivalTrouble.value) return null;
  return (
    <p class="notice" role="alert">
      {arrivalTrouble.value}{" "}
      <button type="button" class="link" onClick={() => (arrivalTrouble.value = "")}>
        {words.desk.seen}
      </button>
    </p>
  );
}
