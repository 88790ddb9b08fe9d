// The feed of a session as people read it: what was asked for, what the agent said, and one row for
// each call, whose mark moves from waiting over allowed to ran. Plain functions over plain values.
//
// The API's feed only ever grows, and a decision or a result is an event of its own there. Here the
// events of one call are put together by the ids in their causes. What belongs to nothing stays a row.
import { needsAnswer, toolKind } from "../broker/tools";
import type { Answer, FeedEvent, FeedPermissionDecision } from "../broker/types.gen";
import { settledBy } from "../queue/model";
import { toolLabel } from "../text/tool";
import { visibleLine, visibleText } from "../text/visible";
import { words } from "../text/words/all";
import type { Line } from "./story";

/** How a call stands. over: it ended, and nothing says that it ran. */
export type Mark = "running" | "waiting" | "allowed" | "ran" | "failed" | "denied" | "over" | "overruled";

/** A tool's call, or a form that an MCP server wants filled in. All texts are safe to show. */
export interface Call {
  kind: "call";
  id: string;
  pos: number;
  ts: number;
  run: string;
  sub: boolean;
  tool: string;
  what: string; // one line
  whole: string; // all of it, where one line does not hold it
  mark: Mark;
  /** Who answered, and how: "Allowed as edited by iPhone". */
  answer: string;
  /** Why it failed or was denied, or how it ended. */
  why: string;
  /** How what was allowed differs from what was asked for. */
  difference: string;
  answers: readonly Answer[];
  ms?: number; // how long it ran
  result: string;
  odd: string[];
  /** What ran, and what the tool said: the agent's own, not safe to show. */
  name: string;
  /** What it asks for is an answer: a question, a plan, a form. */
  asks: boolean;
  input: unknown;
  response: unknown;
}

export interface Prompt {
  kind: "prompt";
  id: string;
  pos: number;
  ts: number;
  text: string;
  from: string; // another session; "" for a person
}

export interface Words {
  kind: "words";
  id: string;
  pos: number;
  ts: number;
  text: string;
  sub: boolean;
}

/** What a run came to. */
export interface End {
  kind: "end";
  id: string;
  pos: number;
  ts: number;
  text: string;
  level: Line["level"];
}

/** Any other event. */
export interface Plain {
  kind: "plain";
  id: string;
  pos: number;
  ts: number;
  sub: boolean;
  e: Line;
}

export type Row = Call | Prompt | Words | End | Plain;

// What a notice of these types says, the call that waits says, or the state of the session.
const repeats = /^(permission_prompt|worker_permission_prompt|agent_needs_input|elicitation_dialog|elicitation_url_dialog|idle_prompt)$/;

const mayRun = /^(running|waiting|allowed)$/; // marks of what is not over

function keyOf(tool: string, input: unknown): string {
  return `${tool} ${JSON.stringify(input)}`;
}

export function transcript(lines: readonly Line[]): Row[] {
  const t = new Transcript();
  for (const e of lines as readonly FeedEvent[]) t.take(e);
  return t.rows;
}

class Transcript {
  readonly rows: Row[] = [];
  private readonly calls = new Map<string, Call>(); // by the ids of their events
  private readonly uses = new Map<string, Call>(); // by tool_use_id
  private readonly byInput = new Map<string, Set<Call>>();
  private readonly unsettled = new Set<Call>(); // those that may still run
  private readonly asks = new Map<string, string>(); // what was asked for, of what was edited
  private readonly started = new Map<string, number>(); // when it could run, by the call's id
  private readonly messages = new Map<string, Words>(); // by message_id
  private said = new Set<string>(); // the agent's messages since the last prompt
  private last = new Set<string>(); // what the ends of turns repeated of them
  private busy = new Set<string>(); // runs with anything in them

  take(e: FeedEvent): void {
    switch (e.kind) {
      case "user.prompt":
        return this.prompt(e);
      case "message":
        return this.message(e);
      case "stop.request":
        return this.stop(e);
      case "tool.pre":
        if (!e.ui?.hidden) this.open(e, e.data.tool_name, e.data.tool_input, "running");
        return;
      case "permission.request":
        return this.asked(e);
      case "elicitation.request":
        this.open(e, "Elicitation", undefined, "running");
        return;
      case "elicitation.result":
        return this.formOver(e);
      case "permission.decision":
        return this.decided(e);
      case "permission.delivery":
        return this.delivered(e, e.data.delivery, e.data.failure ?? "");
      case "permission.overruled":
        return this.overruled(e, e.data.edited ?? false, !!e.data.contained);
      case "permission.denied":
        return this.deniedByAgent(e);
      case "tool.post":
      case "tool.failure":
        return this.result(e);
      case "run.end":
        return this.end(e);
      case "notification":
        if (!repeats.test(e.data.notification_type ?? "")) this.plain(e);
        return;
      default:
        if (!e.ui?.hidden) this.plain(e);
    }
  }

  private plain(e: FeedEvent): void {
    this.rows.push({ kind: "plain", id: e.event_id, pos: e.pos, ts: e.ts, sub: ofSubagent(e), e });
  }

  private prompt(e: Extract<FeedEvent, { kind: "user.prompt" }>): void {
    if (e.ui?.hidden) return;
    this.said = new Set();
    this.last = new Set();
    const d = e.data;
    if (d.source && d.source !== "session_message") return this.plain(e);
    const other = d.source === "session_message";
    this.busy.add(e.run_id);
    this.rows.push({
      kind: "prompt", id: e.event_id, pos: e.pos, ts: e.ts,
      text: visibleText((other ? d.summary : d.prompt) ?? ""), from: other ? visibleLine(d.from || words.feed.anotherSession) : "",
    });
  }

  /** A message comes in pieces, and the last one at times behind the end of the turn. */
  private message(e: Extract<FeedEvent, { kind: "message" }>): void {
    const text = visibleText(e.data.delta);
    const known = e.data.message_id ? this.messages.get(e.data.message_id) : undefined;
    if (known) {
      known.text += text;
      this.said.add(known.text);
      return;
    }
    if (this.last.has(text)) return;
    const row = this.words(e, text, ofSubagent(e), true);
    this.said.add(text);
    if (row && e.data.message_id) this.messages.set(e.data.message_id, row);
  }

  /** The end of a turn repeats the last message. */
  private stop(e: Extract<FeedEvent, { kind: "stop.request" }>): void {
    const text = visibleText(e.data.last_message ?? "");
    if (!this.said.has(text)) this.words(e, text, e.data.scope === "subagent");
    this.last.add(text);
  }

  /** An agent speaks before it calls its tools, and says nothing until they are done: what it says
   * while calls are open belongs before them. The hooks are not in that order. */
  private words(e: FeedEvent, text: string, sub: boolean, first = false): Words | undefined {
    if (text.trim() === "") return undefined;
    const row: Words = { kind: "words", id: e.event_id, pos: e.pos, ts: e.ts, text, sub };
    let at = this.rows.length;
    for (let r = this.rows[at - 1]; first && r?.kind === "call" && r.sub === sub && r.run === e.run_id && mayRun.test(r.mark); r = this.rows[at - 1]) at--;
    this.rows.splice(at, 0, row);
    return row;
  }

  private open(e: FeedEvent, name: string, input: unknown, mark: Mark): Call {
    const [tool, what] = titleOf(e, name);
    const call: Call = {
      kind: "call", id: e.event_id, pos: e.pos, ts: e.ts, run: e.run_id, sub: ofSubagent(e), tool, what, whole: e.body ?? "", mark,
      answer: "", why: "", difference: "", answers: [], result: "", odd: [...(e.marks ?? [])], name, asks: name === "Elicitation" || needsAnswer(name), input, response: undefined,
    };
    this.rows.push(call);
    this.unsettled.add(call);
    this.index(call);
    this.busy.add(e.run_id);
    this.started.set(call.id, e.ts);
    this.link(e, call);
    return call;
  }

  private link(e: FeedEvent, call: Call): void {
    this.calls.set(e.event_id, call);
    if (e.cause?.tool_use_id) this.uses.set(e.cause.tool_use_id, call);
  }

  private parent(e: FeedEvent): Call | undefined {
    return this.calls.get(e.cause?.parent_event_id ?? "");
  }

  private asked(e: Extract<FeedEvent, { kind: "permission.request" }>): void {
    const call = this.parent(e) ?? this.open(e, e.data.tool_name, e.data.tool_input, "waiting");
    this.link(e, call);
    call.mark = "waiting";
    call.sub ||= !!e.data.agent_id;
    call.whole ||= e.body ?? "";
    call.odd = [...new Set([...call.odd, ...(e.marks ?? [])])];
  }

  private decided(e: FeedPermissionDecision): void {
    const call = this.parent(e);
    if (!call) return this.plain(e);
    this.link(e, call);
    if (call.answer || call.mark === "overruled") return; // the first one counts
    const d = e.data;
    const by = (word: string) => (d.by ? settledBy(word, d.by) : word);
    this.started.set(call.id, e.ts);
    switch (d.decision_type) {
      case "allow": {
        const answered = call.asks && toolKind(call.name) !== "plan";
        call.mark = "allowed";
        call.answers = d.answers ?? [];
        call.answer = by(d.contained ? words.outcome.contained : d.edited ? words.outcome.edited : answered ? words.form.answered : words.outcome.allowed);
        if (d.edited) {
          call.difference = e.body ?? "";
          if (d.updated_input !== undefined) {
            call.input = d.updated_input;
            this.index(call);
            this.asks.set(call.id, call.what);
            call.what = gist(call.input);
            call.whole = "";
          }
        }
        return;
      }
      case "deny":
        call.mark = "denied";
        call.answer = d.outcome === "expired" ? words.outcome.denied : by(words.outcome.denied);
        call.why = d.outcome === "expired" ? words.history.reasons["deadline"]! : visibleText(d.message ?? "");
        return;
      case "ask":
        call.mark = "running";
        call.answer = d.reason === "person" ? by(words.outcome.left) : words.feed.call.handedBack;
        return;
      default:
        // It was answered in the terminal, or will be: what follows says whether it ran.
        call.mark = d.reason === "tool_ran" || d.reason === "deadline" ? "running" : "over";
        call.answer = (d.unattended ? "" : words.feed.call.ended[d.reason ?? ""]) || words.feed.call.unanswered;
    }
  }

  private delivered(e: FeedEvent, step: string, failure: string): void {
    const call = this.parent(e);
    if (!call) return;
    this.link(e, call);
    if (step === "refused") call.why = words.feed.call.refused(visibleText(failure));
    if (step !== "confirmed" || call.mark !== "allowed") return;
    call.mark = failure ? "failed" : "ran";
    call.why = visibleText(failure);
  }

  private overruled(e: FeedEvent, edited: boolean, contained: boolean): void {
    const call = this.parent(e);
    if (!call) return this.plain(e);
    this.link(e, call);
    call.mark = "overruled";
    if (edited) call.what = this.asks.get(call.id) ?? call.what;
    call.why = contained ? words.outcome.overruledContained : edited ? words.history.overruledEdit : words.history.overruled;
  }

  private deniedByAgent(e: Extract<FeedEvent, { kind: "permission.denied" }>): void {
    const call = this.uses.get(e.cause?.tool_use_id ?? "") ?? this.open(e, e.data.tool_name, e.data.tool_input, "denied");
    call.mark = "denied";
    call.answer = words.feed.call.byAgent;
    call.why = visibleText(e.data.reason ?? "");
  }

  private result(e: Extract<FeedEvent, { kind: "tool.post" | "tool.failure" }>): void {
    const call = this.parent(e) ?? this.only(e) ?? (e.ui?.hidden ? undefined : this.open(e, e.data.tool_name, e.data.tool_input, "running"));
    if (!call) return;
    const alone = call.id === e.event_id;
    if (alone) call.whole = "";
    const began = alone ? undefined : this.started.get(call.id);
    const ms = e.data.duration_ms || (began === undefined ? 0 : e.ts - began);
    if (ms > 0) call.ms = ms;
    if (e.data.tool_input !== null && e.data.tool_input !== undefined) call.input = e.data.tool_input;
    if (e.kind === "tool.post") {
      if (call.mark === "denied") {
        call.why = words.history.overruled;
        call.mark = "overruled";
      } else if (call.mark !== "overruled") call.mark = "ran";
      call.result = e.body ?? "";
      call.response = e.data.tool_response;
      return;
    }
    if (call.mark !== "overruled") call.mark = "failed";
    call.why = e.data.is_interrupt ? words.feed.call.interrupted : visibleText(e.data.error);
  }

  /** The one open call that a result without a cause can be meant for, by its tool and input. */
  private only(e: Extract<FeedEvent, { kind: "tool.post" | "tool.failure" }>): Call | undefined {
    if (e.cause?.parent_event_id || !e.data.tool_input) return undefined;
    let found: Call | undefined;
    for (const c of this.byInput.get(keyOf(e.data.tool_name, e.data.tool_input)) ?? []) {
      if (!mayRun.test(c.mark) || keyOf(c.name, c.input) !== keyOf(e.data.tool_name, e.data.tool_input)) continue;
      if (found) return undefined;
      found = c;
    }
    return found;
  }

  private index(call: Call): void {
    if (call.input === null || call.input === undefined) return;
    const key = keyOf(call.name, call.input);
    const same = this.byInput.get(key);
    if (same) same.add(call);
    else this.byInput.set(key, new Set([call]));
  }

  private formOver(e: Extract<FeedEvent, { kind: "elicitation.result" }>): void {
    const open = this.rows.filter((r): r is Call => r.kind === "call" && r.name === "Elicitation" && /^(running|waiting|allowed|denied)$/.test(r.mark));
    const last = open[open.length - 1];
    if (!last) return this.plain(e);
    if (last.mark !== "denied") last.mark = e.data.action === "accept" ? "ran" : "denied";
    last.result ||= e.body ?? "";
  }

  private end(e: Extract<FeedEvent, { kind: "run.end" }>): void {
    for (const c of this.unsettled) {
      if (!mayRun.test(c.mark)) this.unsettled.delete(c);
      if (c.run !== e.run_id || c.sub || (c.mark !== "running" && c.mark !== "allowed")) continue;
      c.mark = "over";
      c.why ||= e.data.status === "aborted" ? words.feed.call.interrupted : words.feed.call.noResult;
    }
    if (this.busy.has(e.run_id)) this.rows.push({ kind: "end", id: e.event_id, pos: e.pos, ts: e.ts, text: e.title.replace(/^■ /, ""), level: e.level });
  }
}

function ofSubagent(e: FeedEvent): boolean {
  return e.actor_id.startsWith("subagent:") || (e.kind === "permission.request" && !!e.data.agent_id);
}

/** What a call is known by: its tool, and one line of its input, as the broker's title has them. */
function titleOf(e: FeedEvent, name: string): [tool: string, what: string] {
  const tool = toolLabel(name);
  if (e.kind === "tool.post" || e.kind === "tool.failure") return [tool, gist(e.data.tool_input)];
  const title = e.title.replace(/^\S (Permission: |Question: |Plan: |Denied by the agent itself )?/, "");
  return [tool, argument(title) ?? (title === visibleLine(name) ? "" : title)];
}

/** What stands in Bash(…). */
function argument(title: string): string | undefined {
  return /^[^\s()]+\((.*)\)$/su.exec(title)?.[1];
}

const telling = ["command", "file_path", "notebook_path", "url", "pattern", "query", "plan", "description", "prompt"];
const longGist = 240;

/** One line of an input, where no title says it. */
function gist(input: unknown): string {
  if (typeof input !== "object" || input === null) return "";
  const members = input as Record<string, unknown>;
  const name = telling.find((n) => typeof members[n] === "string");
  const text = name ? String(members[name]) : JSON.stringify(input);
  const lines = (name === "plan" ? text.replace(/^[#\s]+/, "") : text).split("\n");
  const line = visibleLine(lines[0]!.slice(0, longGist));
  return lines.length > 1 || lines[0]!.length > longGist ? `${line} …` : line;
}
