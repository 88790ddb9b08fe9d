// "Do not ask again", in its two ways: what the agent itself suggests to remember, and a rule or
// a grant of assent. Both say what is kept, where, and how far it goes.
import { useEffect, useState } from "preact/hooks";
import { getProposals, type Proposals } from "../broker/api";
import { reason } from "../broker/http";
import type { PermissionUpdate } from "../broker/types.gen";
import { Ticked } from "../text/rich";
import { visibleLine, visibleText } from "../text/visible";
import { words } from "../text/words";

export type Update = Record<string, unknown>;

/** What the agent suggests to remember; entries of an unknown form are left out. */
export function suggestionsOf(suggestions: unknown): Update[] {
  if (!Array.isArray(suggestions)) return [];
  return (suggestions as unknown[]).filter((s): s is Update => typeof s === "object" && s !== null && sentenceOf(s as Update) !== "");
}

/** What an update makes the agent do from now on, as a sentence; "" when that is not known. */
export function sentenceOf(u: Update): string {
  const rules = Array.isArray(u["rules"]) ? (u["rules"] as Update[]).map(ruleText) : [];
  switch (u["type"]) {
    case "addRules":
      return rules.length > 0 && rules.every((r) => r !== "") ? words.always.rules(String(u["behavior"]), rules.join(", ")) : "";
    case "setMode":
      return words.always.mode(visibleLine(String(u["mode"])));
    case "addDirectories":
      return Array.isArray(u["directories"]) ? words.always.directories((u["directories"] as unknown[]).map((d) => visibleLine(String(d))).join(", ")) : "";
    case "toolAlwaysAllow":
      return words.always.tool(visibleLine(String(u["tool"])));
  }
  return "";
}

function ruleText(r: Update | null): string {
  if (typeof r?.["toolName"] !== "string") return "";
  const content = r["ruleContent"];
  return typeof content === "string" ? `${visibleLine(r["toolName"])}(${visibleLine(content)})` : words.always.wholeTool(visibleLine(r["toolName"]));
}

const scopes = ["session", "localSettings", "projectSettings", "userSettings"] as const;

/** Whether another place to keep it may be chosen. */
function movable(u: Update): boolean {
  return u["type"] !== "toolAlwaysAllow" && typeof u["destination"] === "string";
}

interface SuggestionsProps {
  id: string;
  suggestions: readonly Update[];
  chosen: ReadonlyMap<number, Update>;
  disabled: boolean;
  choose(chosen: Map<number, Update>): void;
}

export function Suggestions({ id, suggestions, chosen, disabled, choose }: SuggestionsProps) {
  const set = (i: number, u: Update | undefined) => {
    const next = new Map(chosen);
    if (u) next.set(i, u);
    else next.delete(i);
    choose(next);
  };
  return (
    <fieldset disabled={disabled} class="always">
      <legend>{words.always.legend}</legend>
      {suggestions.length > 1 && <p class="quiet">{words.always.together}</p>}
      {suggestions.map((s, i) => {
        const now = chosen.get(i);
        const to = String((now ?? s)["destination"] ?? "");
        return (
          <div class="suggestion" data-ui="suggestion" key={i}>
            <label class="option" data-ui="option">
              <input type="checkbox" checked={!!now} onChange={() => set(i, now ? undefined : s)} />
              <span>
                <b>{sentenceOf(s)}</b>
                <small>{words.always.kept[to] ?? visibleLine(to)}</small>
              </span>
            </label>
            {now && movable(s) && (
              <div class="chips" data-ui="chips" role="radiogroup" aria-label={words.always.where}>
                {scopes.map((scope) => (
                  <label class="choice" data-ui="choice" key={scope}>
                    <input type="radio" name={`${id}-scope-${i}`} checked={to === scope} onChange={() => set(i, { ...s, destination: scope })} />
                    <span>{words.always.scopes[scope]}</span>
                  </label>
                ))}
              </div>
            )}
          </div>
        );
      })}
    </fieldset>
  );
}

/** How long a proposal holds. */
type Scope = Parameters<typeof words.rule.scope>[0];

export const bounds: readonly Scope[] = [{ minutes: 15 }, { minutes: 60 }, { minutes: 480 }, { count: 5 }, "rule"];

export interface Kept {
  digest: string;
  sentence: string;
  scope: Scope;
}

/** What was saved with an answer. */
export function SavedRule({ sentence, scope }: Kept) {
  return (
    <p class="said" data-ui="said">
      {words.rule.saved(scope)} <Ticked text={visibleText(sentence)} />
    </p>
  );
}

interface RulesProps {
  id: string;
  kept: Kept | undefined;
  disabled: boolean;
  choose(kept: Kept): void;
}

export function RuleForm({ id, kept, disabled, choose }: RulesProps) {
  const [found, setFound] = useState<Proposals>();
  const [wrong, setWrong] = useState("");
  useEffect(() => {
    let gone = false;
    getProposals(id).then(
      (p) => gone || setFound(p),
      (e: unknown) => gone || setWrong(reason(e)),
    );
    return () => void (gone = true);
  }, [id]);
  if (wrong) return <p class="notice">{words.rule.failed(wrong)}</p>;
  if (!found) return <p class="quiet">{words.rule.asking}</p>;
  if (found.proposals.length === 0) return <p class="notice"><Ticked text={words.rule.none(visibleLine(found.reason ?? ""))} /></p>;
  const scope = kept?.scope ?? bounds[0]!;
  return (
    <fieldset disabled={disabled} class="always">
      <legend>{words.rule.legend}</legend>
      {found.proposals.map((p) => (
        <div class="suggestion" data-ui="suggestion" key={p.digest}>
          <label class="option" data-ui="option">
            <input type="radio" name={`${id}-rule`} checked={kept?.digest === p.digest} onChange={() => choose({ digest: p.digest, sentence: p.sentence, scope })} />
            <span>
              <b>
                <Ticked text={visibleText(p.sentence)} />
              </b>
              {p.warnings?.map((w, i) => <small class="warning" key={i}><Ticked text={visibleText(w)} /></small>)}
              <small>{words.rule.past(p.past.matched, p.past.denied, p.past.examined)}</small>
            </span>
          </label>
          <details>
            <summary>{words.rule.written}</summary>
            <pre>{visibleText(p.rule)}</pre>
          </details>
        </div>
      ))}
      <div class="chips" data-ui="chips" role="radiogroup" aria-label={words.rule.howLong}>
        {bounds.map((b, i) => (
          <label class="choice" data-ui="choice" key={i}>
            <input type="radio" name={`${id}-bound`} disabled={!kept} checked={same(b, scope)} onChange={() => kept && choose({ ...kept, scope: b })} />
            <span>{words.rule.scope(b)}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

function same(a: Scope, b: Scope): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Updates as a decision carries them. */
export function updatesOf(chosen: ReadonlyMap<number, Update>): PermissionUpdate[] {
  return [...chosen.entries()].sort((a, b) => a[0] - b[0]).map(([, u]) => u as unknown as PermissionUpdate);
}
