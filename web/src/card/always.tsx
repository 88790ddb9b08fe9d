// "Do not ask again", in one place: what the agent itself suggests to remember, and a rule or a
// grant of assent. Each says what is kept, where, and how far it goes. One of the two ways is chosen.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { getProposals, type Proposals } from "../broker/api";
import { reason } from "../broker/http";
import { Ticked } from "../text/rich";
import { visibleLine, visibleText } from "../text/visible";
import { words } from "../text/words/all";
import { sentenceOf, type Kept, type Scope, type Update } from "./remember";

/** What an answer has somebody remember. */
export interface Remembered {
  /** The agent, by the place of its suggestion. */
  updates: ReadonlyMap<number, Update>;
  /** assent. */
  kept?: Kept;
}

interface Props {
  id: string;
  agent: string;
  suggestions: readonly Update[];
  /** Whether assent may be asked for rules. */
  rules: boolean;
  remembered: Remembered;
  disabled: boolean;
  remember(what: Remembered): void;
}

export function Always({ id, agent, suggestions, rules, remembered: { updates, kept }, disabled, remember }: Props) {
  return (
    <>
      {suggestions.length > 0 && <Suggestions id={id} agent={agent} suggestions={suggestions} chosen={updates} disabled={disabled} choose={(chosen) => remember({ updates: chosen })} />}
      {rules && <RuleForm id={id} kept={kept} disabled={disabled} choose={(k) => remember({ updates: new Map(), kept: k })} />}
    </>
  );
}

const scopes = ["session", "localSettings", "projectSettings", "userSettings"] as const;

/** Whether another place to keep it may be chosen. */
function movable(u: Update): boolean {
  return u["type"] !== "toolAlwaysAllow" && u["type"] !== "patterns" && typeof u["destination"] === "string";
}

interface SuggestionsProps {
  id: string;
  agent: string;
  suggestions: readonly Update[];
  chosen: ReadonlyMap<number, Update>;
  disabled: boolean;
  choose(chosen: Map<number, Update>): void;
}

function Suggestions({ id, agent, suggestions, chosen, disabled, choose }: SuggestionsProps) {
  const set = (i: number, u: Update | undefined) => {
    const next = new Map(chosen);
    if (u) next.set(i, u);
    else next.delete(i);
    choose(next);
  };
  return (
    <fieldset disabled={disabled} class="always">
      <legend>{words.suggestions.legend(agent)}</legend>
      {suggestions.length > 1 && <p class="remark">{words.suggestions.together}</p>}
      {suggestions.map((s, i) => {
        const now = chosen.get(i);
        const to = String((now ?? s)["destination"] ?? "");
        return (
          <div class="suggestion" data-ui="suggestion" data-kind="agent" key={i}>
            <label class="option" data-ui="option">
              <input type="checkbox" checked={!!now} onChange={() => set(i, now ? undefined : s)} />
              <span>
                <b>{sentenceOf(s)}</b>
                <small>{words.always.kept[to] ?? visibleLine(to)}</small>
              </span>
            </label>
            {now && movable(s) && (
              <div class="chips" data-ui="chips" role="radiogroup" aria-label={words.suggestions.where}>
                {scopes.map((scope) => (
                  <label class="choice" data-ui="choice" key={scope}>
                    <input type="radio" name={`${id}-scope-${i}`} checked={to === scope} onChange={() => set(i, { ...s, destination: scope })} />
                    <span>{words.suggestions.scopes[scope]}</span>
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

const bounds: readonly Scope[] = [{ minutes: 15 }, { minutes: 60 }, { minutes: 480 }, { count: 5 }, "rule"];

interface RulesProps {
  id: string;
  kept: Kept | undefined;
  disabled: boolean;
  choose(kept: Kept): void;
}

function RuleForm({ id, kept, disabled, choose }: RulesProps) {
  const [found, setFound] = useState<Proposals>();
  const [wrong, setWrong] = useState("");
  const form = useRef<HTMLFieldSetElement>(null);
  // The panel was in sight while it was short. What came from the broker made it longer.
  useLayoutEffect(() => form.current?.closest("[data-ui=others]")?.scrollIntoView({ block: "nearest" }), [found]);
  useEffect(() => {
    let gone = false;
    getProposals(id).then(
      (p) => gone || setFound(p),
      (e: unknown) => gone || setWrong(reason(e)),
    );
    return () => void (gone = true);
  }, [id]);
  if (wrong) return <p class="notice">{words.proposals.failed(wrong)}</p>;
  if (!found) return <p class="quiet">{words.proposals.asking}</p>;
  if (found.proposals.length === 0) return <p class="notice"><Ticked text={words.proposals.none(visibleLine(found.reason ?? ""))} /></p>;
  const scope = kept?.scope ?? bounds[0]!;
  return (
    <fieldset disabled={disabled} class="always" ref={form}>
      <legend>{words.proposals.legend}</legend>
      {found.proposals.map((p) => (
        <div class="suggestion" data-ui="suggestion" data-kind="rule" key={p.digest}>
          <label class="option" data-ui="option">
            <input type="radio" name={`${id}-rule`} checked={kept?.digest === p.digest} onChange={() => choose({ digest: p.digest, sentence: p.sentence, scope })} />
            <span>
              <b>
                <Ticked text={visibleText(p.sentence)} />
              </b>
              {p.warnings?.map((w, i) => <small class="warning" key={i}><Ticked text={visibleText(w)} /></small>)}
              <small>{words.proposals.past(p.past.matched, p.past.denied, p.past.examined)}</small>
            </span>
          </label>
          <details>
            <summary>{words.proposals.written}</summary>
            <pre>{visibleText(p.rule)}</pre>
          </details>
        </div>
      ))}
      <HowLong id={id} scope={scope} disabled={!kept} choose={(b) => kept && choose({ ...kept, scope: b })} />
    </fieldset>
  );
}

/** How long a rule holds. */
export function HowLong({ id, scope, disabled, choose }: { id: string; scope: Scope; disabled: boolean; choose(scope: Scope): void }) {
  return (
    <div class="chips" data-ui="chips" role="radiogroup" aria-label={words.proposals.howLong}>
      {bounds.map((b, i) => (
        <label class="choice" data-ui="choice" key={i}>
          <input type="radio" name={`${id}-bound`} disabled={disabled} checked={same(b, scope)} onChange={() => choose(b)} />
          <span>{words.rule.scope(b)}</span>
        </label>
      ))}
    </div>
  );
}

function same(a: Scope, b: Scope): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
