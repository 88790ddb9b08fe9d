// Alike requests together, a line each, to answer exactly those that somebody chose. Each gets an
// answer of its own, with the digest of what was on the screen. What is dangerous is not among them.
import { computed, effect, type ReadonlySignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { clockSkew, now } from "../broker/clock";
import type { Shown } from "../broker/types.gen";
import { byAgent, Head, Missing, Notices, RawRequest, useWhole } from "../card/about";
import { Card } from "../card/card";
import { LastWords } from "../card/context";
import { made } from "../card/edits";
import { Parts } from "../card/fields";
import { Effects, RiskStrip } from "../card/head";
import { partsOf, type Part } from "../card/parts";
import { Reading } from "../card/reading";
import { mayDecide } from "../device/session";
import { preferences } from "../panels/preferences";
import { visibleLine } from "../text/visible";
import { words } from "../text/words";
import { AgentMark } from "./agent";
import { useTall, useWaking } from "./arm";
import { canAnswer, each, hindrance, standing, tally, toggled, type Chosen, type Read } from "./choice";
import { pressOf } from "./friction";
import { hold } from "./hold";
import { folded, inOrder, isForm, outcomeLine, sessionName, shownOf, since, waits, type Item } from "./model";
import { onScreen } from "./onscreen";
import { useReadRows } from "./rowsseen";
import { shapeOf, type Shape } from "./shape";
import { items as allItems, link, send } from "./state";

const still = 500; // ms that a list or a button must not have moved or changed before a tap counts
const atOnce = 6;
const mostOfLine = 400; // characters

interface Alike {
  shape: Shape;
  tool: string;
  /** Equal requests are one. */
  rows: (readonly Item[])[];
}

const shapes = new WeakMap<Item["request"], Shape>();

function shape(item: Item): Shape {
  let s = shapes.get(item.request);
  if (!s) shapes.set(item.request, (s = shapeOf(item.request, shownOf(item))));
  return s;
}

const parts = new WeakMap<Shown, Part[]>();

function partsFor(item: Item): readonly Part[] {
  const shown = shownOf(item);
  if (!shown) return [];
  let p = parts.get(shown);
  if (!p) parts.set(shown, (p = partsOf(item.request.toolName, shown.fields, (item.whole ?? item.request).context, made)));
  return p;
}

function alike(items: readonly Item[]): Alike[] {
  const groups = new Map<string, { shape: Shape; tool: string; items: Item[] }>();
  for (const item of items) {
    const s = shape(item);
    const g = groups.get(s.key);
    if (g) g.items.push(item);
    else groups.set(s.key, { shape: s, tool: item.request.toolName, items: [item] });
  }
  return [...groups.values()].map((g) => ({ shape: g.shape, tool: g.tool, rows: folded(g.items).map((e) => e.items) }));
}

/** The rows that are open, by the id of their first request, with the names of the long parts in
 * them that are. */
type Opened = ReadonlyMap<string, ReadonlySet<string>>;

export function Many({ items }: { items: readonly Item[] }) {
  const order = preferences.value.order;
  const groups = alike(inOrder(items, order));
  const [chosen, choose] = useState<Chosen>(new Map());
  const [opened, setOpened] = useState<Opened>(new Map());
  const [said, say] = useState("");
  const list = useRef<HTMLDivElement>(null);
  const bar = useRef<HTMLDivElement>(null);
  const read = useReadRows(list, bar);
  useEffect(() =>
    effect(() => {
      for (const same of groups.flatMap((g) => g.rows)) if (read.value.get(same[0]!.request.id)) for (const i of same) if (waits(i)) onScreen(i.request.id);
    }),
  );
  const stood = useStill(useWaking() + groups.map((g) => `${g.shape.key}:${g.rows.map((r) => r.map((i) => i.request.id).join()).join()}`).join());
  const pick = (some: readonly Item[], yes: boolean): boolean => {
    if (!stood()) return false;
    say("");
    choose((c) => toggled(c, some.map((i) => i.request), yes));
    return true;
  };
  const open = (id: string, parts: ReadonlySet<string> | undefined) =>
    setOpened((o) => {
      const next = new Map(o);
      if (parts) next.set(id, parts);
      else next.delete(id);
      return next;
    });
  const waiting = items.filter((i) => !i.endedAt).length;
  return (
    <div ref={list}>
      <h2 class="many-head">
        <span class="count">{words.desk.waiting(waiting)}</span>
      </h2>
      {groups.map((g) => (
        <Together key={g.shape.key} group={g} chosen={chosen} opened={opened} pick={pick} open={open} />
      ))}
      {mayDecide() && <Bar at={bar} chosen={chosen} groups={groups} read={read} choose={choose} open={(id) => open(id, opened.get(id) ?? none)} said={said} say={say} />}
    </div>
  );
}

/** Returns a function that says whether what has this key has stood still. */
function useStill(key: string): () => boolean {
  const at = useRef(-Infinity);
  const first = useRef(true);
  useLayoutEffect(() => {
    if (!first.current) at.current = performance.now();
    first.current = false;
  }, [key]);
  return () => performance.now() - at.current >= still;
}

interface TogetherProps {
  group: Alike;
  chosen: Chosen;
  opened: Opened;
  pick(items: readonly Item[], yes: boolean): boolean;
  open(id: string, parts: ReadonlySet<string> | undefined): void;
}

/** Whether it may be chosen: what is dangerous is answered by itself. */
function choosable(item: Item): boolean {
  return canAnswer(item) && pressOf(item.request) !== "hold";
}

function Together({ group: g, chosen, opened, pick, open }: TogetherProps) {
  const name = words.inbox.alike(visibleLine(g.tool), visibleLine(g.shape.name));
  const waiting = g.rows.flat().filter(canAnswer).length;
  const free = g.rows.filter((r) => r.some(choosable));
  const items = free.flat().filter(choosable);
  const all = items.every((i) => chosen.get(i.request.id) === i.request.inputSha256);
  const id = useId();
  return (
    <section class="alike" data-ui="alike" aria-labelledby={id}>
      <header>
        {free.length > 1 && (
          <label class="pick">
            <input
              type="checkbox"
              checked={all}
              disabled={!mayDecide()}
              aria-label={words.inbox.chooseAll(name)}
              onClick={(e) => {
                if (!pick(items, !all)) e.preventDefault();
              }}
            />
          </label>
        )}
        <h3 id={id}>
          {name} <span class="count">{words.desk.waiting(waiting)}</span>
        </h3>
      </header>
      <ul>
        {g.rows.map((r) => {
          const first = r[0]!.request.id;
          return <Row key={first} items={r} chosen={r.some((i) => canAnswer(i) && chosen.get(i.request.id) === i.request.inputSha256)} opened={opened.get(first)} pick={pick} open={open} />;
        })}
      </ul>
    </section>
  );
}

const none: ReadonlySet<string> = new Set();
const slowly = computed(() => Math.floor(now.value / 5000) * 5000); // a thousand bars need not move each second

interface RowProps {
  /** Equal requests. */
  items: readonly Item[];
  chosen: boolean;
  /** The long parts that are open in it; undefined while it is not open itself. */
  opened: ReadonlySet<string> | undefined;
  pick(items: readonly Item[], yes: boolean): boolean;
  open(id: string, parts: ReadonlySet<string> | undefined): void;
}

/** Among a thousand rows only those that changed are made anew. */
function Row(props: RowProps) {
  const { items, chosen, opened } = props;
  const [alone, setAlone] = useState(false);
  return useMemo(() => <Exactly {...props} alone={alone} setAlone={setAlone} />, [stand(items), chosen, opened, alone]);
}

const stands = new WeakMap<Item, number>();
let lastStand = 0;

/** Another text when one of the items is another one. */
function stand(items: readonly Item[]): string {
  return items.map((i) => stands.get(i) ?? (stands.set(i, ++lastStand), lastStand)).join();
}

interface ExactlyProps extends RowProps {
  alone: boolean;
  setAlone(yes: boolean): void;
}

function Exactly({ items, chosen, opened, pick, open, alone, setAlone }: ExactlyProps) {
  const item = items.find(canAnswer) ?? items[0]!;
  const { request: r } = item;
  const id = items[0]!.request.id;
  const what = r.sentence || shownOf(item)?.verb || words.card.use(visibleLine(r.toolName));
  const where = visibleLine(sessionName(r));
  const all = partsFor(item);
  const text = lineOf(all);
  const line = outcomeLine(item, Date.now() - clockSkew) ?? (item.attempt?.phase === "failed" ? { text: item.attempt.why, tone: "bad" } : undefined);
  const free = items.filter(canAnswer);
  const byItself = hindrance(item, "whole") === "own";
  if (alone && !item.endedAt) {
    return (
      <li class="alone">
        <button type="button" class="link" onClick={() => setAlone(false)}>
          {words.inbox.fold}
        </button>
        <Card item={item} />
      </li>
    );
  }
  const whole = opened && all.every((p) => !p.long || opened.has(p.name)) ? "yes" : text.whole ? "line" : undefined;
  return (
    <li class={`many-row${chosen ? " chosen" : ""}${opened ? " opened" : ""}${free.length > 0 ? "" : " over"}`} data-ui="row" data-risk={r.risk ?? "attention"} data-state={free.length > 0 ? undefined : "over"} data-whole={whole} data-request={id}>
      <div class="line">
        {free.some(choosable) ? (
          <label class="pick">
            <input
              type="checkbox"
              checked={chosen}
              disabled={!mayDecide()}
              aria-label={words.inbox.choose(what, where)}
              onClick={(e) => {
                if (!pick(free.filter(choosable), !chosen)) e.preventDefault();
              }}
            />
          </label>
        ) : (
          <span class="pick" aria-hidden="true">{free.length > 0 ? "⚠" : ""}</span>
        )}
        <button type="button" class="what" data-action="open" aria-expanded={!!opened} onClick={() => open(id, opened ? undefined : none)}>
          <b>{what}</b>
          <code class="text">{text.line}</code>
        </button>
        {free.length > 1 && <b class="times" data-ui="times" aria-label={words.inbox.times(free.length)}>×{free.length}</b>}
        <span class="from">
          <AgentMark of={r} /> {where}
        </span>
        {free.length > 0 && <Left item={item} />}
      </div>
      {free.length > 0 && <RiskStrip item={item} />}
      {(opened || line) && (
        <div class="all">
          {opened && <Inside item={item} parts={all} opened={opened} open={(name) => open(id, new Set(opened).add(name))} />}
          {line && <p class={`outcome ${line.tone}`}>{line.text}</p>}
          {opened && free.length > 0 && (byItself || !mayDecide()) && (
            <button type="button" class="link" data-action="alone" onClick={() => setAlone(true)}>
              {words.inbox.byItself}
            </button>
          )}
        </div>
      )}
    </li>
  );
}

interface InsideProps {
  item: Item;
  parts: readonly Part[];
  opened: ReadonlySet<string>;
  open(part: string): void;
}

/** All that a card would show of it, below the headline and the risk, which the row has. */
function Inside({ item, parts, opened, open }: InsideProps) {
  const { request: r } = item;
  const [missing, retry] = useWhole(item);
  const some = { request: item.whole ?? r, opened, open };
  return (
    <>
      <Head item={item} />
      <Notices item={item} />
      <Parts {...some} parts={parts.filter((p) => !byAgent(p))} />
      {!isForm(r) && <Effects item={item} />}
      <Parts {...some} parts={parts.filter(byAgent)} />
      <LastWords item={item} />
      <Missing why={missing} retry={retry} />
      {r.detached && <p class="notice">{words.card.detached}</p>}
      <Reading request={r} />
      {!r.uninspectable && <RawRequest item={item} />}
    </>
  );
}

/** What a row's line says of the input, and whether that is all of it where it is not cut. What the
 * agent says about it is no part of what it does. */
function lineOf(all: readonly Part[]): { line: string; whole: boolean } {
  const parts = all.filter((p) => p.kind !== "field" || p.field.kind !== "words");
  const first = parts[0];
  if (!first) return { line: "", whole: true };
  const text = first.kind === "field" ? first.field.text : first.is;
  const line = text.split("\n", 1)[0]!;
  return { line: line.slice(0, mostOfLine), whole: parts.length === 1 && first.kind === "field" && line === text && text.length <= mostOfLine && !/ {2}|\t| $/.test(text) };
}

/** The time that is left, as a bar and in words. */
function Left({ item: { request: r } }: { item: Item }) {
  const from = Date.parse(r.createdAt);
  const to = Date.parse(r.deadline);
  const left = Math.max(0, to - slowly.value);
  return (
    <span class={left < 60_000 ? "left soon" : "left"}>
      <i aria-hidden="true">
        <b style={{ transform: `scaleX(${Math.min(1, left / Math.max(1, to - from)).toFixed(3)})` }} />
      </i>
      {words.inbox.left(since(left))}
    </span>
  );
}

function again(items: readonly Item[]): Chosen {
  return toggled(new Map(), items.map((i) => i.request), true);
}

interface BarProps {
  at: RefObject<HTMLDivElement | null>;
  chosen: Chosen;
  groups: readonly Alike[];
  read: ReadonlySignal<ReadonlyMap<string, Read>>;
  choose(c: Chosen): void;
  open(id: string): void;
  /** What became of the last answer. */
  said: string;
  say(text: string): void;
}

/** What is done with the chosen ones, at the foot of the screen. */
function Bar({ at, chosen, groups, read: rows, choose, open, said, say }: BarProps) {
  const read = rows.value;
  const [sending, setSending] = useState(false);
  const key = [useTall(), useWaking(), ...chosen.keys()].join();
  const ready = useStill(key);
  const [armed, setArmed] = useState(true);
  useLayoutEffect(() => { // before anybody sees the new number beside a button that looks ready
    setArmed(false);
    const timer = setTimeout(() => setArmed(true), still);
    return () => clearTimeout(timer);
  }, [key]);
  const { good, stale } = standing(chosen, allItems.value);
  const rowOf = useMemo(() => new Map(groups.flatMap((g) => g.rows.flatMap((r) => r.map((i) => [i.request.id, r[0]!.request.id] as const)))), [groups]);
  const blocks = good.map((i) => hindrance(i, read.get(rowOf.get(i.request.id) ?? "") ?? ""));
  const unread = new Set(good.filter((_, n) => blocks[n] === "unseen").map((i) => rowOf.get(i.request.id)!));
  const unseen = unread.size;
  const own = blocks.filter((b) => b === "own").length;
  const toUnread = (id: string) => {
    if (read.get(id) === "line") open(id); // the line alone is not enough
    requestAnimationFrame(() => document.querySelector(`.many-row[data-request="${CSS.escape(id)}"]`)?.scrollIntoView({ block: "center" }));
  };
  const offline = link.value !== "live";
  const dangers = groups.flatMap((g) => g.rows.flat()).filter((i) => canAnswer(i) && !choosable(i)).length;
  const obstacle = own > 0 ? words.inbox.own(own) : unseen > 0 ? words.inbox.unseen(unseen) : "";
  const count = chosen.size;
  const answerAll = async (behavior: "allow" | "deny") => {
    if (sending || offline || count === 0 || !ready()) return;
    if (behavior === "allow" && obstacle) return;
    if (stale.length > 0) {
      choose(again(good));
      say(words.inbox.stale(stale.length, count));
      return;
    }
    setSending(true);
    if (await hold(words.hold.several(words.answer[behavior], good.length))) {
      const results = await each(good, atOnce, (i) => send(i.request, { behavior }, Promise.resolve(true)));
      const t = tally(results);
      choose(again(good.filter((_, i) => results[i] === "failed")));
      say([words.inbox.done(behavior, t.done), t.settled > 0 && words.inbox.settled(t.settled), t.failed > 0 && words.inbox.failed(t.failed)].filter(Boolean).join(" "));
    } else say(words.inbox.takenBack);
    setSending(false);
  };
  const off = !armed || sending || offline || count === 0;
  return (
    <div class="together" data-ui="together" ref={at} role="group" aria-label={words.inbox.chosen(count)}>
      <p role="status">
        {said || (offline ? words.answer.noLink : count === 0 ? words.inbox.noneChosen : obstacle)}
        {!said && count === 0 && dangers > 0 && ` ${words.inbox.danger(dangers)}`}
        {!said && !offline && unseen > 0 && own === 0 && (
          <button type="button" class="link" data-action="way" onClick={() => toUnread([...unread][0]!)}>
            {words.card.next}
          </button>
        )}
      </p>
      <div class="together-row">
        <span class="count">{words.inbox.chosen(count)}</span>
        <button type="button" class="link" disabled={count === 0 || sending} onClick={() => choose(new Map())}>
          {words.inbox.clear}
        </button>
        <button type="button" class="deny" data-action="deny" aria-disabled={off} onClick={() => void answerAll("deny")}>
          {words.inbox.deny(count)}
        </button>
        <button type="button" class="allow" data-action="allow" aria-disabled={off || !!obstacle} onClick={() => void answerAll("allow")}>
          {words.inbox.allow(count)}
        </button>
      </div>
    </div>
  );
}
