// One request that is over, in the history: what ran, and how that differs from what was asked for.
import { useState } from "preact/hooks";
import { getRequest } from "../broker/api";
import { now } from "../broker/clock";
import { reason } from "../broker/http";
import { toolKind } from "../broker/tools";
import type { Settled } from "../broker/types.gen";
import { Difference } from "../card/difference";
import { Parts } from "../card/fields";
import { Sample, twoEnds } from "../card/head";
import { partsOf } from "../card/parts";
import { Said } from "../card/said";
import { AgentMark } from "../queue/agent";
import { agoWords, isRequest, projectDir, projectName, since, type Request } from "../queue/model";
import { sessions } from "../queue/state";
import { toolLabel } from "../text/tool";
import { visibleLine } from "../text/visible";
import { words } from "../text/words/all";
import { Trace } from "./trace";
import { whoIs } from "./who";

const tones: Readonly<Record<string, string>> = { allowed: "good", denied: "bad" };

interface Props {
  d: Settled;
  /** The row above: what it says of its session is not said again. */
  before: Settled | undefined;
  only(filter: { by?: string; tool?: string; repo?: string }): void;
}

export function Decided({ d, before, only }: Props) {
  const [whole, setWhole] = useState<Request>();
  const [error, setError] = useState("");
  const [traced, trace] = useState(false);
  const at = new Date(d.settledAt);
  const took = Date.parse(d.settledAt) - Date.parse(d.createdAt);
  const who = d.by ? whoIs(d.by) : "";
  const tone = d.failed ? "bad" : tones[d.outcome];
  const show = () => {
    setError("");
    getRequest(d.id).then(
      (r) => isRequest(r) && setWhole(r),
      (e: unknown) => setError(reason(e)),
    );
  };
  return (
    <li class={`decided ${d.delivery === "overruled" ? "loud" : (tone ?? "gone")}`} data-ui="decision" data-state={tone}>
      <div class="where dated">
        <time class="age" dateTime={d.settledAt} title={at.toLocaleString()}>
          {agoWords(now.value - at.getTime())}
        </time>
        <b>{outcomeOf(d)}</b>{" "}
        {who && d.by?.kind !== "owner-cli" ? (
          <button type="button" class="link" title={words.history.filter(visibleLine(d.by?.name ?? ""))} onClick={() => only({ by: d.by?.name ?? "" })}>
            {who}
          </button>
        ) : (
          <span>{who || why(d)}</span>
        )}{" "}
        {d.by?.verified && <span>{words.verify.confirmed}</span>}{" "}
        <span>{took < 3000 ? words.history.atOnce : words.history.took(since(took))}</span>{" "}
        {d.delivery === "overruled" && <b>{d.outcome === "allowed" && !d.contained ? words.history.overruledEdit : words.history.overruled}</b>}{" "}
        {d.delivery === "refused" && <b>{words.history.refused(visibleLine(d.failure ?? ""))}</b>}
      </div>
      <div class="summary" data-ui="summary">
        <button type="button" class="link tool" title={words.history.filter(visibleLine(d.toolName))} onClick={() => only({ tool: d.toolName })}>
          {toolLabel(d.toolName)}
        </button>{" "}
        <span>{d.delivery === "overruled" && d.asked ? d.asked : d.summary}</span>
      </div>
      {!whole && d.changes && <Difference text={d.changes} />}
      {!d.changes && d.asked && d.asked !== d.summary && <p class="told">{words.history.asked(d.asked)}</p>}
      {d.answers && <p class="told">{words.history.answers(d.answers)}</p>}
      {d.failed && d.failure && (
        <p class="told failure" data-ui="failure">
          {d.failure}
        </p>
      )}
      {d.message && <p class="told">{words.history.told(visibleLine(d.message))}</p>}
      <div class="where">
        <Sample of={d} />
        <AgentMark of={whole ?? sessions.value.get(d.sessionId) ?? {}} />
        {d.repo && (
          <button type="button" class="link" title={words.history.filter(visibleLine(projectDir(d.repo)))} onClick={() => only({ repo: projectDir(d.repo) })}>
            {twoEnds(visibleLine(projectName(d.repo)))}
          </button>
        )}
        {d.sessionTitle && d.sessionTitle !== visibleLine(projectName(d.repo)) && d.sessionId !== before?.sessionId && <span>{d.sessionTitle}</span>}
        {!whole && (
          <button type="button" class="link" onClick={show}>
            {words.history.whole}
          </button>
        )}
        <button type="button" class="link" data-action="trace" aria-expanded={traced} onClick={() => trace(!traced)}>
          {traced ? words.trace.close : words.trace.open}
        </button>
      </div>
      {error && (
        <p class="notice" role="alert">
          {words.card.notFetched(error)}
        </p>
      )}
      {whole && <Whole request={whole} />}
      {traced && <Trace id={d.id} />}
    </li>
  );
}

/** What became of it: "Allowed as edited; failed". */
function outcomeOf(d: Settled): string {
  const answered = d.outcome === "allowed" && !d.edited && (toolKind(d.toolName) === "question" || d.toolName === "Elicitation");
  return (answered ? words.form.answered : (words.history.outcomes[d.outcome] ?? visibleLine(d.outcome))) + (d.edited ? words.history.edited : d.contained ? words.history.contained : "") + (d.failed ? words.history.failed : "");
}

/** Why it ended, where nobody decided. */
function why(d: Settled): string {
  if (!d.reason) return "";
  return d.unattended && /^(tool_ran|hangup|turn_ended)$/.test(d.reason) ? words.history.unattended : (words.history.reasons[d.reason] ?? visibleLine(d.reason));
}

/** What was allowed, else what was asked for, and what was said beside it. */
function Whole({ request }: { request: Request }) {
  const { units, doubts, ...edited } = request; // which are of what was asked for
  const shown = request.allowed?.shown;
  return (
    <>
      <Said item={{ request, endedAt: 1 }} />
      <Parts request={shown ? edited : request} parts={partsOf(request.toolName, (shown ?? request.shown)?.fields ?? [])} opened={everything} open={() => undefined} />
    </>
  );
}

/** All fields are shown whole: nobody decides by them any more. */
const everything: ReadonlySet<string> = new (class extends Set<string> {
  override has(): boolean {
    return true;
  }
})();
