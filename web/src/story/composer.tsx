// The line under a session in which its agent is told something, and what became of what was sent.
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { agents } from "../agents/agents";
import { handedOver, Handover } from "../agents/handover";
import { kindFor, Outcome, type AgentSession } from "../agents/outcome";
import { WorkTree } from "../agents/worktree";
import { messagesPath, send, takeBack, type Sending } from "../agents/send";
import { ApiError, reason } from "../broker/http";
import type { Message, SessionInfo } from "../broker/types.gen";
import { authorized, ownDevice } from "../device/session";
import { link } from "../queue/state";
import { Rich } from "../text/rich";
import { visibleLine, visibleText } from "../text/visible";
import { laterWords } from "../text/words/later";
import { heard, keepMessagesOf, messages, writing } from "./messages";
import { Steps } from "./steps";
import { edit, replaced, Waiting, waits } from "./waiting";

const w = laterWords.say;
const shown = 3; // messages, the newest
const again = 2000; // ms after which the messages are read again that could not be read

/** What was begun in each session, and not sent. */
const drafts = signal<ReadonlyMap<string, string>>(new Map());

export function Composer({ session }: { session: SessionInfo | undefined }) {
  const id = session?.sessionId ?? "";
  useMessages(id);
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => setTrouble(""), [id]);
  const write = id !== "" && writing.value === id;
  useEffect(() => {
    if (!write || !field.current) return;
    writing.value = "";
    field.current.scrollIntoView({ block: "nearest" });
    field.current.focus();
  });
  const hosted = agents.value.find((a) => a.sessions?.some((s) => s.sessionId === id));
  const stand = hosted?.sessions?.find((s) => s.sessionId === id);
  const own = messages.value.filter((m) => m.sessionId === id);
  const last = own.filter(waits).pop();
  const to = session && recipient(session, hosted?.name, stand, own);
  if (!session || !to || (session.agent ?? "claude") !== "claude") return null;
  const role = ownDevice()?.role;
  const may = role !== "view" && role !== "approve";
  const about = hosted && stand && (
    <>
      <WorkTree key={id} agent={hosted.name} session={id} />
      <Outcome agent={hosted} session={stand} may={may} />
    </>
  );
  if (!may) {
    return (
      <>
        {about}
        <p class="quiet say-not"><Rich text={w.notAllowed} /></p>
      </>
    );
  }
  const draft = drafts.value.get(id) ?? "";
  const set = (text: string) => (drafts.value = new Map(drafts.value).set(id, text));
  const go = async () => {
    if (busy || draft.trim() === "") return;
    setBusy(true);
    setTrouble("");
    set(""); // at once: what is typed meanwhile is the next one
    try {
      await send({ ...to, prompt: draft });
    } catch (e) {
      const next = drafts.peek().get(id);
      set(next ? `${draft}\n${next}` : draft);
      setTrouble(w.failed(e instanceof ApiError && e.problem.reason === "unreachable" ? w.unreachable : reason(e)));
    }
    setBusy(false);
  };
  return (
    <>
      {about}
      <section class="say" data-ui="composer" aria-label={w.label}>
        <ol class="sent" aria-live="polite">
          {own
            .filter((m) => !waits(m) && m.kind !== "handover" && !replaced.value.has(m.id))
            .slice(-shown)
            .map((m) => (
              <One key={m.id} message={m} />
            ))}
        </ol>
        {trouble && (
          <p class="notice" role="alert">
            {trouble}
          </p>
        )}
        <form
          onSubmit={(e) => {
            e.preventDefault();
            void go();
          }}
        >
          <textarea
            ref={field}
            aria-label={w.label}
            placeholder={w.placeholder}
            rows={Math.min(6, draft.split("\n").length)}
            maxLength={65536}
            dir="auto"
            value={draft}
            onInput={(e) => set(e.currentTarget.value)}
            onKeyDown={(e) => {
              if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) {
                e.preventDefault();
                void go();
              } else if (e.key === "ArrowUp" && draft === "" && last) {
                e.preventDefault();
                edit(last);
              }
            }}
          />
          <button type="submit" class="allow" data-action="say" disabled={busy || draft.trim() === ""}>
            {busy ? w.sending : w.send}
          </button>
        </form>
        <Waiting key={id} own={own} />
        {hosted && stand?.status === "busy" && <Stop agent={hosted.name} session={id} />}
          {to.host && <Handover key={id} agent={to.agent} session={id} own={own} />}
        <p class="quiet">{to.host ? w.hostHint : w.hint}</p>
      </section>
    </>
  );
}

/** To whom the text of the line goes: the session's terminal, or the agent of a host that runs it, or ran it.
 * undefined: to nobody, it has ended. */
function recipient(session: SessionInfo, hosted: string | undefined, stand: AgentSession | undefined, own: readonly Message[]): Omit<Sending, "prompt"> | undefined {
  const sessionId = session.sessionId;
  if (hosted && stand) return { host: true, agent: hosted, sessionId, kind: handedOver(own) ? "resume" : kindFor(stand) };
  const ran = own.find((m) => !m.agent.startsWith("terminal@"))?.agent;
  if (ran) return { host: true, agent: ran, sessionId, kind: "resume" };
  return session.state === "exited" ? undefined : { host: false, agent: `terminal@${session.host ?? ""}`, sessionId, kind: "prompt" };
}

/** Ends what the session of a host does; pressed again, more firmly. */
function Stop({ agent, session }: { agent: string; session: string }) {
  const [said, setSaid] = useState("");
  const stop = () =>
    send({ host: true, agent, sessionId: session, kind: "cancel" }).then(
      () => setSaid(w.stopped),
      (e: unknown) => setSaid(w.notStopped(reason(e))),
    );
  return (
    <p class="act">
      <button type="button" class="small" data-action="stop-agent" onClick={() => void stop()}>
        {w.stop}
      </button>
      <span role="status">{said}</span>
    </p>
  );
}

export function One({ message: m }: { message: Message }) {
  const by = m.by.name && m.by.kind === "device" ? visibleLine(m.by.name) : w.terminal;
  return (
    <li data-ui="message" data-state={m.state}>
      <span class="text" dir="auto">
        {m.kind === "cancel" ? w.stop : visibleText(m.prompt ?? w.forgotten)}
      </span>
      <small>
        {by} · {stateOf(m)}
      </small>
      {m.state === "sent" && (
        <button type="button" class="link" data-action="take-back" onClick={() => void takeBack(m).then((now) => heard([now]), () => undefined)}>
          {w.takeBack}
        </button>
      )}
      <Steps message={m} />
    </li>
  );
}

/** How far a message is, in words. */
function stateOf(m: Message): string {
  const started = m.steps.find((s) => s.state === "started");
  const seconds = started ? (Date.parse(started.at) - Date.parse(m.steps[0]!.at)) / 1000 : 0;
  const state = how(m, seconds < 10 ? seconds.toFixed(1) : String(Math.round(seconds)));
  const why = m.steps[m.steps.length - 1]?.why;
  return why ? w.because(state, visibleLine(why)) : state;
}

function how(m: Message, seconds: string): string {
  if (m.kind === "cancel") return w.stops[m.state];
  if (m.state === "ended" && m.stoppedBy) return w.stoppedOn(m.stoppedBy);
  if (m.state === "ended" && m.outcome && m.outcome !== "completed") return w.outcomes[m.outcome];
  return w.states[m.state](seconds);
}

/** Reads the messages of a session once, and again with each new connection: what changes in between, the
 * broker tells. */
export function useMessages(id: string): void {
  const live = link.value === "live";
  useEffect(() => keepMessagesOf(id), [id]);
  useEffect(() => {
    if (!id || !live) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let gone = false;
    const look = () =>
      authorized<Message[]>("GET", messagesPath(id)).then(
        (list) => void (gone || heard(list)),
        () => void (gone || (timer = setTimeout(() => void look(), again))),
      );
    void look();
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [id, live]);
}
