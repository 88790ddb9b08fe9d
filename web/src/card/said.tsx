// What an answer said beyond yes or no: words, changes, what is remembered. It stands under the
// outcome. What was changed and answered the broker says, and nobody else: it has the record.
import type { ElicitationResponse, PermissionResponse } from "../broker/types.gen";
import { isForm, type Item } from "../queue/model";
import { visibleLine, visibleText } from "../text/visible";
import { words } from "../text/words";
import { useMore } from "./more";
import { sentenceOf, suggestionsOf, type Update } from "./remember";

// Of a tool call, or of a form.
type Output = Partial<Omit<PermissionResponse["hookSpecificOutput"] & ElicitationResponse["hookSpecificOutput"], "hookEventName">>;

export function Said({ item }: { item: Item }) {
  const { request: r, attempt, whole } = item;
  if (item.lost) return null;
  const own = attempt?.phase === "taken" ? attempt.decision : undefined;
  const output: Output | undefined = (whole?.response ?? r.response)?.hookSpecificOutput;
  const d = isForm(r) ? undefined : output?.decision ?? own;
  const { answers, changes } = whole?.allowed ?? r.allowed ?? {};
  const raw = (d?.updatedPermissions ?? []) as unknown as (Update | string)[];
  const updates = typeof raw[0] === "string" ? suggestionsOf(raw, r) : (raw as Update[]);
  return (
    <>
      {d?.message && (
        <div class="said" data-ui="said">
          <span class="label">{words.outcome.toldAgent}</span>
          <q dir="auto">{visibleText(d.message)}</q>
        </div>
      )}
      {d?.interrupt && <p class="said" data-ui="said">{words.outcome.stopped}</p>}
      {answers && (
        <div class="said" data-ui="said">
          {isForm(r) && <span class="label">{words.form.sent}</span>}
          <ul>
            {answers.map((a) => (
              <li key={a.question}>
                {a.question} <b>{a.answer}</b>
              </li>
            ))}
          </ul>
        </div>
      )}
      {changes && (
        <div class="said" data-ui="said">
          <span class="label">{words.outcome.changedTo}</span>
          {changes.map((c) => (
            <Changed key={c.name} before={c.before ?? ""} after={c.after ?? ""} />
          ))}
        </div>
      )}
      {updates.length > 0 && (
        <ul class="said" data-ui="said">
          {updates.map((u, i) => (
            <li key={i}>
              {words.outcome.from} {sentenceOf(u) || visibleLine(String(u["type"]))}. {words.always.kept[String(u["destination"] ?? "")] ?? ""}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** A difference is shown by a script that comes with the first one. */
function Changed(props: { before: string; after: string }) {
  const { script } = useMore(true);
  return script ? <script.Changed {...props} /> : null;
}
