// The foot of a card: a line for what the agent should do instead, Deny and Allow, and a menu with
// every other answer. It claims nothing that the broker has not said.
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
import { draftOf, keepDraft } from "../queue/drafts";
import { pressOf, wantsVerification } from "../queue/friction";
import { isForm, nameOf, outcomeLine, type Answer, type Item, type Request } from "../queue/model";
import { answer, link, remark } from "../queue/state";
import { Paths } from "../text/rich";
import { visibleLine, visibleText } from "../text/visible";
import { words } from "../text/words";
import { AllowButton } from "./allow";
import type { Remembered } from "./always";
import type { Edits } from "./edit";
import { fit } from "./fit";
import { useOthers } from "./others";
import type { Field } from "./parts";
import { SavedRule, boundOf, suggestionsOf, updatesOf, type Kept } from "./remember";
import { Said } from "./said";

export type Mode = "" | "edit" | "always" | "stop" | "handback";

/** Set by whoever wants a card's note or one of its other answers: a key, for example. */
export const wanted = signal<{ id: string; mode: Mode | "words" } | undefined>(undefined);

export interface Way {
  label: string;
  go(): void;
}

interface Props {
  item: Item;
  foot: RefObject<HTMLDivElement | null>;
  fields: readonly Field[];
  /** Why it cannot be allowed now; "" when it can. */
  obstacle: string;
  /** Leads to what has not been seen, where that is the obstacle. */
  way: Way | undefined;
  /** What an allow carries by itself: answers to questions, a plan as it is. */
  input: Record<string, unknown> | undefined;
}

export function Foot({ item, foot, fields, obstacle, way, input }: Props) {
  const { request: r, attempt } = item;
  const source = item.whole ?? r;
  const plan = toolKind(r.toolName) === "plan";
  const form = isForm(r);
  const question = toolKind(r.toolName) === "question" && !form;
  const [mode, setMode] = useState<Mode>("");
  const [note, setNote] = useState(draftOf(r.id));
  const [edits, setEdits] = useState<Edits>(new Map());
  const [remembered, remember] = useState<Remembered>({ updates: new Map() });
  const [planMode, setPlanMode] = useState<PlanMode>("");
  const [saving, setSaving] = useState(false);
  const [notSaved, setNotSaved] = useState("");
  const [saved, setSaved] = useState<Kept>();
  const panel = useRef<HTMLDivElement>(null);
  const box = useRef<HTMLTextAreaElement>(null);
  const { armed, ready } = useArm(foot, r.id);
  const { script: others, failed } = useOthers(mode === "edit" || mode === "always" || wantsVerification(r, { behavior: "allow" })); // that, so that the question comes at once
  useLayoutEffect(() => {
    panel.current?.scrollIntoView({ block: "nearest" }); // above the foot, not behind it
  }, [mode, others]);
  const was = useRef(mode);
  useLayoutEffect(() => {
    // What had the focus is gone: the menu, or the button that leads back.
    if (was.current !== mode && document.activeElement === document.body) (panel.current ?? foot.current?.querySelector<HTMLElement>("[data-action=other]"))?.focus({ preventScroll: true });
    was.current = mode;
  }, [mode]);
  const leaveMode = (e: KeyboardEvent) => {
    if (e.key === "Escape" && !e.isComposing && !sending) setMode("");
  };
  const asked = wanted.value;
  useLayoutEffect(() => {
    if (asked?.id !== r.id) return;
    if (asked.mode === "words") box.current?.focus({ preventScroll: true });
    else if (asked.mode === "handback" ? hasPrompt(r) : !form && takes(r, asked.mode) && (asked.mode !== "edit" || source.toolInput)) setMode(asked.mode);
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

  const agent = visibleLine(words.card.agentName(r.agent));
  const suggestions = suggestionsOf(source.permissionSuggestions, r);
  const rules = !question && !plan && !form;
  const modes: Exclude<Mode, "">[] = [];
  if (!form && (suggestions.length > 0 || rules)) modes.push("always");
  if (!question && !form && source.toolInput && takes(r, "edit")) modes.push("edit");
  if (takes(r, "stop")) modes.push("stop");
  if (hasPrompt(r)) modes.push("handback");

  const members = others && !question ? others.membersOf(source, fields) : undefined;
  const message = form || mode === "stop" || mode === "handback" ? "" : note.trim();
  const edited = mode === "edit" && members && others ? others.editedInput(source, members, edits) : undefined;
  const { updates, kept } = mode === "always" ? remembered : { updates: new Map(), kept: undefined };
  const offline = link.value !== "live";
  const sending = attempt?.phase === "sending" ? attempt.behavior : saving ? "allow" : undefined;

  let against = obstacle;
  if (mode === "handback") against = "";
  else if (mode === "stop") against = form ? words.form.dismissBlocks : words.answer.stopBlocks;
  else if (message) against = words.answer.noteBlocks;
  else if (obstacle || mode === "") against = obstacle;
  else if (!others) against = failed ? words.later.failed : words.oneMoment;
  else if (mode === "edit" && !members) against = words.answer.notEditable;
  else if (mode === "edit" && !edited) against = words.answer.nothingEdited;
  else if (edited && "wrong" in edited) against = edited.wrong;
  else if (mode === "always" && updates.size === 0 && !kept) against = words.answer.chooseAlways;

  const deny = () => {
    if (sending || offline || !ready()) return;
    void answer(r, { behavior: "deny", ...(mode === "stop" ? { interrupt: true } : message ? { message } : {}) });
  };
  const leave = () => {
    if (!sending && !offline && ready()) void answer(r, "handback");
  };
  const permit = async () => {
    if (sending || offline || against) return;
    const changes: PermissionUpdate[] = updatesOf(updates);
    if (plan && planMode) changes.push({ type: "setMode", mode: planMode, destination: "session" });
    const changed = edited && "input" in edited ? edited.input : input;
    const decision: Answer = { behavior: "allow", ...(changed ? { updatedInput: changed } : {}), ...(changes.length > 0 ? { updatedPermissions: changes } : {}) };
    if (kept && kept !== saved) {
      setNotSaved("");
      setSaving(true);
      try {
        await keep(r, kept.digest, boundOf(kept));
        setSaved(kept); // it holds, whatever becomes of the answer
        remark(r.id, `${words.rule.saved(kept.scope)} ${visibleText(kept.sentence)}`);
      } catch (e) {
        return setNotSaved(reason(e));
      } finally {
        setSaving(false);
      }
    }
    await answer(r, decision);
  };
  const waiting = !armed || !!sending || offline;
  const hold = pressOf(r) === "hold";
  const no = form ? (mode === "stop" ? words.form.dismiss : words.form.decline) : mode === "stop" ? words.answer.denyStop : message ? words.answer.denyNote : words.answer.deny;
  const say = offline ? words.answer.noLink : against || (kept ? words.rule.holds(kept.scope) : "");
  const ownPrompt = r.via === "acp" ? words.answer.editor : words.answer.terminal;
  const noted = !form && mode !== "stop" && mode !== "handback" && r.can?.words !== false;
  const corner =
    mode === "" ? (
      <Menu modes={modes} form={form} editor={r.via === "acp"} disabled={!!sending} choose={setMode} />
    ) : (
      <button type="button" class="third" data-action="back" disabled={!!sending} aria-label={words.answer.back} onClick={() => setMode("")}>
        ✕
      </button>
    );
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
      {mode !== "" && (
        <div class="others" data-ui="others" data-state={mode} ref={panel} tabIndex={-1} onKeyDown={leaveMode}>
          {mode === "edit" && others && members && (
            <others.EditForm members={members} edits={edits} disabled={!!sending} type={(key, text) => setEdits(new Map(edits).set(key, text))} />
          )}
          {mode === "always" && others && (
            <others.Always id={r.id} agent={agent} suggestions={suggestions} rules={rules} remembered={remembered} disabled={!!sending} remember={remember} />
          )}
          {mode === "stop" && <p class="remark">{form ? words.form.dismissHint : words.answer.stopHint}</p>}
          {mode === "handback" && <p class="remark">{r.via === "acp" ? words.answer.editorHint : words.answer.terminalHint(agent)}</p>}
        </div>
      )}
      <div class="foot" data-ui="foot" ref={foot} tabIndex={-1} onKeyDown={leaveMode}>
        {plan && <Then id={r.id} mode={planMode} disabled={!!sending} choose={setPlanMode} />}
        {say && (
          <p class="obstacle" data-ui="obstacle" id={`obstacle-${r.id}`}>
            {say}{" "}
            {!offline && way && against === obstacle && (
              <button type="button" class="link" data-action="way" onClick={way.go}>
                {way.label}
              </button>
            )}
          </p>
        )}
        {noted && (
          <div class="line">
            <textarea
              ref={(b) => {
                box.current = b;
                fit(b);
              }}
              class="note"
              data-ui="note"
              rows={1}
              value={note}
              disabled={!!sending}
              placeholder={words.answer.instead(agent)}
              aria-label={words.answer.instead(agent)}
              onInput={(e) => {
                fit(e.currentTarget);
                setNote(e.currentTarget.value);
                keepDraft(r.id, e.currentTarget.value);
              }}
            />
            {corner}
          </div>
        )}
        <div class={noted ? undefined : "line"}>
          <div class="two" data-ui="answers">
            {mode === "handback" ? (
              <button type="button" class="neither" data-action="handback" data-state={sending === "handback" ? "busy" : undefined} aria-disabled={waiting} aria-label={words.answer.about(ownPrompt, nameOf(item))} onClick={leave}>
                <span>{ownPrompt}</span>
              </button>
            ) : (
            <>
            <button type="button" class={`deny${sending === "deny" ? " busy" : ""}`} data-action="deny" data-state={sending === "deny" ? "busy" : undefined} aria-disabled={waiting} aria-label={words.answer.about(no, nameOf(item))} onClick={deny}>
              <span>{no}</span>
            </button>
            <AllowButton
              id={r.id}
              about={nameOf(item)}
              label={hold ? words.answer.hold : form ? words.form.send : labelOf(mode, plan, question, !!kept, r.action)}
              hold={hold}
              off={waiting || !!against}
              busy={sending === "allow"}
              describedBy={say ? `obstacle-${r.id}` : undefined}
              ready={ready}
              allow={() => void permit()}
            />
            </>
            )}
          </div>
          {!noted && corner}
        </div>
        <p class="sending" data-ui="sending" role="status">{saving ? words.answer.saving : attempt?.phase === "sending" && attempt.held ? words.answer.held : attempt?.phase === "sending" && attempt.asks ? words.answer.confirm : sending ? words.answer.sending : ""}</p>
      </div>
    </>
  );
}

/** Whether the agent takes such an answer. */
function takes({ can }: Request, mode: Mode): boolean {
  return mode === "edit" ? can?.edit !== false : mode !== "stop" || can?.interrupt !== false;
}

/** Whether a terminal would ask if assent did not. */
function hasPrompt(r: Request): boolean {
  return r.via !== "mcp" && r.attended !== "no";
}

function labelOf(mode: Mode, plan: boolean, question: boolean, rule: boolean, action: string | undefined): string {
  if (question) return words.answer.answer;
  if (mode === "edit") return plan ? words.answer.approveEdited : words.answer.allowEdited;
  if (plan) return words.answer.approve;
  if (mode === "always") return rule ? words.answer.saveAllow : words.answer.allowAlways;
  return action ? words.answer.allowThat(action) : words.answer.allow;
}

type PlanMode = "" | "acceptEdits";

/** How the agent goes on with a plan. */
function Then({ id, mode, disabled, choose }: { id: string; mode: PlanMode; disabled: boolean; choose(m: PlanMode): void }) {
  return (
    <fieldset class="then" data-ui="then" disabled={disabled}>
      <legend class="unseen">{words.plan.then}</legend>
      {(["", "acceptEdits"] as const).map((m) => (
        <label class="choice" key={m}>
          <input type="radio" name={`${id}-then`} checked={mode === m} onChange={() => choose(m)} />
          <span>{words.plan.modes[m]}</span>
        </label>
      ))}
    </fieldset>
  );
}

interface MenuProps {
  modes: readonly Exclude<Mode, "">[];
  form: boolean;
  editor: boolean; // the agent asks in an editor, not in a terminal
  disabled: boolean;
  choose(m: Mode): void;
}

/** The other answers, behind one button. */
function Menu({ modes, form, editor, disabled, choose }: MenuProps) {
  const [open, setOpen] = useState(false);
  const all = useRef<HTMLDivElement>(null);
  // With the menu, not after it is painted: by then the person may be typing in the note.
  useLayoutEffect(() => {
    if (!open) return;
    all.current?.querySelector<HTMLElement>("[data-mode]")?.focus({ preventScroll: true });
    const outside = (e: Event) => e.target instanceof Node && !all.current?.contains(e.target) && setOpen(false);
    const events = ["pointerdown", "focusin"];
    for (const e of events) addEventListener(e, outside, true);
    return () => events.forEach((e) => removeEventListener(e, outside, true));
  }, [open]);
  return (
    <div
      class="others-menu"
      ref={all}
      onKeyDown={(e) => {
        if (e.key !== "Escape") return;
        setOpen(false);
        all.current?.querySelector("button")?.focus();
      }}
    >
      <button type="button" class="third" data-action="other" disabled={disabled} aria-expanded={open} aria-label={words.answer.more} onClick={() => setOpen(!open)}>
        ⋯
      </button>
      {open && (
        <ul data-ui="menu">
          {modes.map((m) => (
            <li key={m}>
              <button type="button" data-mode={m} onClick={() => choose(m)}>
                {form && m === "stop" ? words.form.dismissMode : editor && m === "handback" ? words.answer.editorMode : words.answer.modes[m]}
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
