// What an answer said beyond yes or no: words, changes, what is remembered. It stands under the
// outcome, from the broker's record, or from this page's own answer until that is here.
import { sentenceOf, type Update } from "./always";
import { Changed } from "./edit";
import { isForm, type Item } from "./model";
import type { ElicitationResponse, PermissionResponse } from "./types.gen";
import { visibleLine, visibleText } from "./visible";
import { words } from "./words";

// Of a tool call, or of a form.
type Output = Partial<Omit<PermissionResponse["hookSpecificOutput"] & ElicitationResponse["hookSpecificOutput"], "hookEventName">>;

export function Said({ item }: { item: Item }) {
  const { request: r, attempt } = item;
  const own = attempt?.phase === "taken" ? attempt.decision : undefined;
  const output: Output | undefined = (item.whole?.response ?? r.response)?.hookSpecificOutput;
  if (isForm(r) && !item.lost) return <Filled content={(output?.content ?? own?.updatedInput) as Record<string, unknown> | undefined} />;
  const d = output?.decision ?? own;
  if (!d || item.lost) return null;
  const before: Record<string, unknown> = (item.whole ?? r).toolInput ?? {};
  const changes = Object.entries(d.updatedInput ?? {}).filter(([k, v]) => k in before && text(v) !== text(before[k]));
  const answers = (d.updatedInput as Record<string, unknown> | undefined)?.["answers"];
  const updates = (d.updatedPermissions ?? []) as unknown as Update[];
  return (
    <>
      {d.message && (
        <div class="said">
          <span class="label">{words.outcome.toldAgent}</span>
          <q dir="auto">{visibleText(d.message)}</q>
        </div>
      )}
      {d.interrupt && <p class="said">{words.outcome.stopped}</p>}
      {r.toolName === "AskUserQuestion" && typeof answers === "object" && answers !== null && (
        <ul class="said">
          {Object.entries(answers).map(([q, a]) => (
            <li key={q}>
              {visibleLine(q)} <b>{visibleLine(text(a))}</b>
            </li>
          ))}
        </ul>
      )}
      {changes.length > 0 && (
        <div class="said">
          <span class="label">{words.outcome.changedTo}</span>
          {changes.map(([k, v]) => (
            <Changed key={k} before={visibleText(text(before[k]))} after={visibleText(text(v))} />
          ))}
        </div>
      )}
      {updates.length > 0 && (
        <ul class="said">
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

/** What an MCP server was told. */
function Filled({ content }: { content: Record<string, unknown> | undefined }) {
  const all = Object.entries(content ?? {});
  if (all.length === 0) return null;
  return (
    <div class="said">
      <span class="label">{words.form.sent}</span>
      <ul>
        {all.map(([k, v]) => (
          <li key={k}>
            {visibleLine(k)} <b>{visibleText(text(v))}</b>
          </li>
        ))}
      </ul>
    </div>
  );
}

function text(v: unknown): string {
  return typeof v === "string" ? v : JSON.stringify(v, null, 2) ?? "";
}
