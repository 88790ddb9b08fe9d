// The messages of a session that nobody has taken yet, in their order: until then each can be changed or
// deleted. A change takes the message back and sends it anew, so it goes to the end.
import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { send, takeBack } from "../agents/send";
import { ApiError, reason } from "../broker/http";
import type { Message } from "../broker/types.gen";
import { visibleLine, visibleText } from "../text/visible";
import { laterWords } from "../text/words/later";
import { heard } from "./messages";

const w = laterWords.say;

interface Edit {
  text: string;
  /** The message was taken back, and its new text is not sent yet. */
  back: boolean;
}

/** What is being changed, by the id of its message. */
const edits = signal<ReadonlyMap<string, Edit>>(new Map());
/** The message that was left as it was just now: its button has the focus again. */
const left = signal("");
/** Messages that went because their new text was sent. */
export const replaced = signal<ReadonlySet<string>>(new Set());

/** Whether a message can still be changed. */
export function waits(m: Message): boolean {
  return (m.kind === "prompt" || m.kind === "resume") && m.state === "sent";
}

/** Begins to change a message. */
export function edit(m: Message): void {
  keep(m.id, { text: m.prompt ?? "", back: false });
}

function keep(id: string, e: Edit | undefined): void {
  const next = new Map(edits.peek());
  if (e) next.set(id, e);
  else next.delete(id);
  edits.value = next;
}

/** own are the messages of the session, the oldest first. */
export function Waiting({ own }: { own: readonly Message[] }) {
  const [said, say] = useState<readonly [text: string]>([""]);
  const status = useRef<HTMLParagraphElement>(null);
  const list = own.filter((m) => waits(m) || edits.value.has(m.id));
  const count = list.filter(waits).length;
  const done = (text: string) => say([text]);
  useEffect(() => {
    if (said[0]) status.current?.focus(); // the button is gone
  }, [said]);
  return (
    <div class="queued">
      {count > 0 && <h3>{w.queued(count)}</h3>}
      <ol data-ui="queued" aria-label={w.queue}>
        {list.map((m) => {
          const e = edits.value.get(m.id);
          return e ? <Editor key={m.id} message={m} edit={e} done={done} /> : <One key={m.id} message={m} done={done} />;
        })}
      </ol>
      <p role="status" class="quiet" tabIndex={-1} ref={status}>
        {said[0]}
      </p>
    </div>
  );
}

interface Props {
  message: Message;
  done(text: string): void;
}

function One({ message: m, done }: Props) {
  const change = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    if (left.peek() !== m.id) return;
    left.value = "";
    change.current?.focus();
  }, []);
  const remove = () =>
    takeBack(m).then(
      (now) => (heard([now]), done(w.deleted)),
      (e: unknown) => done(w.notDeleted(reason(e))),
    );
  return (
    <li data-ui="message" data-state={m.state}>
      <span class="text" dir="auto">
        {visibleText(m.prompt ?? w.forgotten)}
      </span>
      <span class="act">
        <small>{m.by.name && m.by.kind === "device" ? visibleLine(m.by.name) : w.terminal}</small>
        {m.prompt !== undefined && (
          <button type="button" class="small" data-action="edit-message" ref={change} onClick={() => edit(m)}>
            {w.edit}
          </button>
        )}
        <button type="button" class="small" data-action="take-back" onClick={() => void remove()}>
          {w.delete}
        </button>
      </span>
    </li>
  );
}

function Editor({ message: m, edit: e, done }: Props & { edit: Edit }) {
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    field.current?.focus(); // before the next key
    field.current?.setSelectionRange(e.text.length, e.text.length);
  }, []);
  const gone = !waits(m); // while it was being changed
  const close = () => {
    keep(m.id, undefined);
    if (!gone) left.value = m.id;
  };
  const save = async () => {
    if (busy || e.text.trim() === "") return;
    if (!gone && e.text === m.prompt) return close();
    setBusy(true);
    setTrouble("");
    try {
      if (!gone) {
        const now = await takeBack(m);
        keep(m.id, { ...e, back: true });
        heard([now]);
      }
      await send({ host: !m.agent.startsWith("terminal@"), agent: m.agent, sessionId: m.sessionId, kind: m.kind, prompt: e.text, ...(m.options ? { options: m.options } : {}) });
      if (!gone || e.back) replaced.value = new Set(replaced.value).add(m.id);
      keep(m.id, undefined);
      done(w.savedLast);
    } catch (x) {
      setBusy(false);
      setTrouble(w.failed(x instanceof ApiError && x.problem.reason === "unreachable" ? w.unreachable : reason(x)));
    }
  };
  return (
    <li data-ui="editing">
      <form
        onSubmit={(s) => {
          s.preventDefault();
          void save();
        }}
      >
        <textarea
          ref={field}
          aria-label={w.editLabel}
          rows={Math.min(6, e.text.split("\n").length + 1)}
          maxLength={65536}
          dir="auto"
          value={e.text}
          onInput={(i) => keep(m.id, { ...e, text: i.currentTarget.value })}
          onKeyDown={(k) => {
            if (k.key === "Escape") {
              k.stopPropagation();
              close();
            } else if (k.key === "Enter" && (k.ctrlKey || k.metaKey)) {
              k.preventDefault();
              void save();
            }
          }}
        />
        {trouble && (
          <p class="notice" role="alert">
            {trouble}
          </p>
        )}
        <p class="quiet" role="status">
          {!gone ? w.editHint : e.back ? w.takenBack : w.takenMeanwhile}
        </p>
        <span class="act">
          <button type="button" class="small" data-action="discard-edit" onClick={close}>
            {gone ? w.discard : w.cancel}
          </button>
          <button type="submit" class="small" data-action="save-edit" disabled={busy || e.text.trim() === ""}>
            {busy ? w.sending : gone ? w.sendNew : w.save}
          </button>
        </span>
      </form>
    </li>
  );
}
