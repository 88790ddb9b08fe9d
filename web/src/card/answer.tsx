// The foot of a card: Deny and Allow, and every other answer behind a third button. It claims
// nothing that the broker has not said.
import { signal } from "@preact/signals";
import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { keep } from "../broker/api";
import { clockSkew, now } from "../broker/clock";
import { reason } from "../broker/http";
import { toolKind } from "../broker/tools";
import type { PermissionUpdate } from "../broker/types.gen";
import { mayDecide } from "../device/session";
import { useArm } from "../queue/arm";
import { isForm, outcomeLine, type Answer, type Item } from "../queue/model";
import { answer, link } from "../queue/state";
import { Paths } from "../text/rich";
import { words } from "../text/words";
import { RuleForm, SavedRule, Suggestions, suggestionsOf, updatesOf, type Kept, type Update } from "./always";
import { EditForm, editedInput, membersOf, type Edits } from "./edit";
import type { Field } from "./parts";
import { Said } from "./said";

export type Mode = "" | "words" | "edit" | "always" | "rule" | "stop";

/** Set by whoever wants a card's other answers open: a key, for example. */
export const wanted = signal<{ id: string; mode: Mode } | undefined>(undefined);

interface Props {
  item: Item;
  foot: RefObject<HTMLDivElement | null>;
  fields: readonly Field[];
  /** Why it cannot be allowed now; "" when it can. */
  obstacle: string;
  /** Leads to what has not been seen, where that is the obstacle. */
  goThere: (() => void) | undefined;
  /** What an allow carries by itself: answers to questions, a plan as it is. */
  input: Record<string, unknown> | undefined;
}

export function Foot({ item, foot, fields, obstacle, goThere, input }: Props) {
  const { request: r, attempt } = item;
  const source = item.whole ?? r;
  const plan = toolKind(r.toolName) === "plan";
  const form = isForm(r);
  const question = toolKind(r.toolName) === "question" && !form;
  const [wish, setMode] = useState<Mode>("");
  const mode = form && wish !== "stop" ? "" : wish;
  const [reply, setReply] = useState("");
  const [edits, setEdits] = useState<Edits>(new Map());
  const [chosen, setChosen] = useState<ReadonlyMap<number, Update>>(new Map());
  const [kept, setKept] = useState<Kept>();
  const [planMode, setPlanMode] = useState<"" | "acceptEdits">("");
  const [saving, setSaving] = useState(false);
  const [notSaved, setNotSaved] = useState("");
  const [saved, setSaved] = useState<Kept>();
  const area = useRef<HTMLTextAreaElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const { armed, ready } = useArm(foot);
  useLayoutEffect(() => {
    panel.current?.scrollIntoView({ block: "nearest" }); // above the foot, not behind it
    if (mode === "words") area.current?.focus({ preventScroll: true });
  }, [mode]);
  const asked = wanted.value;
  useLayoutEffect(() => {
    if (asked?.id !== r.id) return;
    setMode(asked.mode);
    wanted.value = undefined;
  }, [asked, r.id]);

  const line = outcomeLine(item, now.value - clockSkew);
  if (item.endedAt || attempt?.phase === "taken") {
    return (
      <div class="foot" data-ui="foot" ref={foot} tabIndex={-1}>
        <p class={`outcome ${line?.tone ?? "gone"}`} data-ui="outcome" role="status">
          <Paths text={line?.text ?? words.answer.over} />
        </p>
        <Said item={item} />
        {saved && <SavedRule {...saved} />}
      </div>
    );
  }
  if (!mayDecide()) return (
      <div class="foot" data-ui="foot" ref={foot} tabIndex={-1}>
        <p class="outcome gone" data-ui="outcome">{words.answer.viewOnly}</p>
      </div>
    );

  const members = question ? undefined : membersOf(source, fields);
  const suggestions = suggestionsOf(source.permissionSuggestions);
  const modes: Mode[] = form ? [] : ["words"];
  if (!question && !form && source.toolInput) modes.push("edit");
  if (!form && suggestions.length > 0) modes.push("always");
  if (!question && !plan && !form) modes.push("rule");
  modes.push("stop");

  const message = mode === "words" ? reply.trim() : "";
  const edited = mode === "edit" && members ? editedInput(source, members, edits) : undefined;
  const offline = link.value !== "live";
  const sending = attempt?.phase === "sending" ? attempt.behavior : saving ? "allow" : undefined;

  let against = obstacle;
  if (mode === "stop") against = form ? words.form.dismissBlocks : words.answer.stopBlocks;
  else if (message) against = words.answer.replyBlocks;
  else if (obstacle) against = obstacle;
  else if (mode === "edit" && !members) against = words.answer.notEditable;
  else if (mode === "edit" && !edited) against = words.answer.nothingEdited;
  else if (edited && "wrong" in edited) against = edited.wrong;
  else if (mode === "always" && chosen.size === 0) against = words.answer.chooseAlways;
  else if (mode === "rule" && !kept) against = words.answer.chooseRule;

  const deny = () => {
    if (sending || offline || !ready()) return;
    void answer(r, { behavior: "deny", ...(mode === "stop" ? { interrupt: true } : message ? { message } : {}) });
  };
  const permit = async () => {
    if (sending || offline || against || !ready()) return;
    const updates: PermissionUpdate[] = mode === "always" ? updatesOf(chosen) : [];
    if (plan && planMode) updates.push({ type: "setMode", mode: planMode, destination: "session" });
    const changed = edited && "input" in edited ? edited.input : input;
    const decision: Answer = { behavior: "allow", ...(changed ? { updatedInput: changed } : {}), ...(updates.length > 0 ? { updatedPermissions: updates } : {}) };
    if (mode === "rule" && kept && kept !== saved) {
      setNotSaved("");
      setSaving(true);
      try {
        await keep(r, kept.digest, boundOf(kept));
        setSaved(kept); // it holds, whatever becomes of the answer
      } catch (e) {
        return setNotSaved(reason(e));
      } finally {
        setSaving(false);
      }
    }
    await answer(r, decision);
  };
  const waiting = !armed || !!sending || offline;
  return (
    <>
      {attempt?.phase === "failed" && (
        <p class="outcome bad" data-ui="outcome" role="alert">
          {attempt.why}
        </p>
      )}
      {notSaved && (
        <p class="outcome bad" data-ui="outcome" role="alert">
          {words.answer.notSaved(notSaved)}
        </p>
      )}
      {plan && (
        <fieldset class="then" data-ui="then" disabled={!!sending}>
          <legend>{words.plan.then}</legend>
          <div class="chips">
            {(["", "acceptEdits"] as const).map((m) => (
              <label class="choice" key={m}>
                <input type="radio" name={`${r.id}-then`} checked={planMode === m} onChange={() => setPlanMode(m)} />
                <span>{words.plan.modes[m]}</span>
              </label>
            ))}
          </div>
        </fieldset>
      )}
      {mode !== "" && (
        <div class="others" data-ui="others" ref={panel}>
          <div class="chips" role="group" aria-label={words.answer.modesOf}>
            {modes.map((m) => (
              <button type="button" class="chip-button" key={m} data-mode={m} aria-pressed={mode === m} disabled={!!sending} onClick={() => setMode(m)}>
                {form ? words.form.dismissMode : words.answer.modes[m as Exclude<Mode, "">]}
              </button>
            ))}
          </div>
          {mode === "words" && (
            <label class="reply" data-ui="reply">
              <span class="label">{words.answer.replyLabel}</span>
              <textarea ref={area} rows={3} value={reply} disabled={!!sending} placeholder={words.answer.replyHint} onInput={(e) => setReply(e.currentTarget.value)} />
            </label>
          )}
          {mode === "edit" && members && (
            <EditForm members={members} edits={edits} disabled={!!sending} type={(key, text) => setEdits(new Map(edits).set(key, text))} />
          )}
          {mode === "always" && <Suggestions id={r.id} suggestions={suggestions} chosen={chosen} disabled={!!sending} choose={setChosen} />}
          {mode === "rule" && <RuleForm id={r.id} kept={kept} disabled={!!sending} choose={setKept} />}
          {mode === "stop" && <p class="remark">{form ? words.form.dismissHint : words.answer.stopHint}</p>}
        </div>
      )}
      <div class="foot" data-ui="foot" ref={foot} tabIndex={-1}>
        <div class="line">
          <p class="obstacle" data-ui="obstacle" id={`obstacle-${r.id}`}>
            {offline ? words.answer.noLink : against || (mode === "rule" && kept && words.rule.holds(kept.scope))}{" "}
            {!offline && goThere && against === obstacle && (
              <button type="button" class="link" onClick={goThere}>
                {words.card.next}
              </button>
            )}
          </p>
          <button type="button" class="third" data-action="other" disabled={!!sending} aria-expanded={mode !== ""} onClick={() => setMode(mode !== "" ? "" : form ? "stop" : "words")}>
            {mode === "" ? words.answer.more : words.answer.less}
          </button>
        </div>
        <div class="two" data-ui="answers">
          <button type="button" class={`deny${sending === "deny" ? " busy" : ""}`} data-action="deny" data-state={sending === "deny" ? "busy" : undefined} aria-disabled={waiting} onClick={deny}>
            {form ? (mode === "stop" ? words.form.dismiss : words.form.decline) : mode === "stop" ? words.answer.denyStop : message ? words.answer.sendBack : words.answer.deny}
          </button>
          <button
            type="button"
            class={`allow${sending === "allow" ? " busy" : ""}`} data-action="allow" data-state={sending === "allow" ? "busy" : undefined}
            aria-disabled={waiting || !!against}
            {...(against || mode === "rule" ? { "aria-describedby": `obstacle-${r.id}` } : {})}
            onClick={() => void permit()}
          >
            {form ? words.form.send : labelOf(mode, plan, question)}
          </button>
        </div>
        <p class="sending" data-ui="sending" role="status">{saving ? words.answer.saving : attempt?.phase === "sending" && attempt.held ? words.answer.held : sending ? words.answer.sending : ""}</p>
      </div>
    </>
  );
}

function labelOf(mode: Mode, plan: boolean, question: boolean): string {
  if (question) return words.answer.answer;
  if (mode === "edit") return plan ? words.answer.approveEdited : words.answer.allowEdited;
  if (plan) return words.answer.approve;
  if (mode === "always") return words.answer.allowAlways;
  return mode === "rule" ? words.answer.saveAllow : words.answer.allow;
}

/** The bound of a grant as the broker takes it; nothing for a rule. */
function boundOf({ scope }: Kept): { expiresAt?: string; count?: number } {
  if (scope === "rule") return {};
  if ("count" in scope) return { count: scope.count };
  return { expiresAt: new Date(Date.now() + clockSkew + scope.minutes * 60_000).toISOString() };
}
