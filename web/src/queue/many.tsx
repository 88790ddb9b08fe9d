// Alike requests together, to answer exactly those that somebody chose. Every one is read whole
// and gets an answer of its own, with the digest of what was on the screen.
import { computed, type ReadonlySignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { clockSkew, now } from "../broker/clock";
import type { Shown } from "../broker/types.gen";
import { Card } from "../card/card";
import { Parts } from "../card/fields";
import { partsOf, type Part } from "../card/parts";
import { mayDecide } from "../device/session";
import { preferences } from "../panels/preferences";
import { visibleLine } from "../text/visible";
import { words } from "../text/words";
import { useTall } from "./arm";
import { canAnswer, each, hindrance, standing, tally, toggled, type Chosen } from "./choice";
import { hold } from "./hold";
import { inOrder, outcomeLine, sessionName, shownOf, since, type Item } from "./model";
import { useSeenRows } from "./rowsseen";
import { shapeOf, type Shape } from "./shape";
import { items as allItems, link, send } from "./state";

const still = 500; // ms that a list or a button must not have moved or changed before a tap counts
const atOnce = 6;

interface Alike {
  shape: Shape;
  tool: string;
  items: Item[];
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
  if (!p) parts.set(shown, (p = partsOf(item.request.toolName, shown.fields)));
  return p;
}

function alike(items: readonly Item[]): Alike[] {
  const groups = new Map<string, Alike>();
  for (const item of items) {
    const s = shape(item);
    const g = groups.get(s.key);
    if (g) g.items.push(item);
    else groups.set(s.key, { shape: s, tool: item.request.toolName, items: [item] });
  }
  return [...groups.values()];
}

type Opened = ReadonlyMap<string, ReadonlySet<string>>;

export function Many({ items }: { items: readonly Item[] }) {
  const order = preferences.value.order;
  const groups = alike(inOrder(items, order));
  const [chosen, choose] = useState<Chosen>(new Map());
  const [opened, setOpened] = useState<Opened>(new Map());
  const [said, say] = useState("");
  const list = useRef<HTMLDivElement>(null);
  const bar = useRef<HTMLDivElement>(null);
  const seen = useSeenRows(list, bar);
  const stood = useStill(groups.map((g) => `${g.shape.key}:${g.items.map((i) => i.request.id).join()}`).join());
  const pick = (some: readonly Item[], yes: boolean): boolean => {
    if (!stood()) return false;
    say("");
    choose((c) => toggled(c, some.map((i) => i.request), yes));
    return true;
  };
  const waiting = items.filter((i) => !i.endedAt).length;
  return (
    <div ref={list}>
      <h2 class="many-head">
        <span class="count">{words.desk.waiting(waiting)}</span>
      </h2>
      {groups.map((g) => (
        <Together key={g.shape.key} group={g} chosen={chosen} opened={opened} pick={pick} open={(id, name) => setOpened((o) => new Map(o).set(id, new Set(o.get(id)).add(name)))} />
      ))}
      {mayDecide() && <Bar at={bar} chosen={chosen} opened={opened} seen={seen} choose={choose} said={said} say={say} />}
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
  open(id: string, name: string): void;
}

function Together({ group: g, chosen, opened, pick, open }: TogetherProps) {
  const name = words.inbox.alike(visibleLine(g.tool), visibleLine(g.shape.name));
  const waiting = g.items.filter(canAnswer);
  const all = waiting.length > 0 && waiting.every((i) => chosen.get(i.request.id) === i.request.inputSha256);
  const id = useId();
  return (
    <section class="alike" data-ui="alike" aria-labelledby={id}>
      <header>
        <label class="pick">
          <input
            type="checkbox"
            checked={all}
            disabled={waiting.length === 0 || !mayDecide()}
            aria-label={words.inbox.chooseAll(name)}
            onClick={(e) => {
              if (!pick(waiting, !all)) e.preventDefault();
            }}
          />
        </label>
        <h3 id={id}>
          {name} <span class="count">{words.desk.waiting(waiting.length)}</span>
        </h3>
      </header>
      <ul>
        {g.items.map((i) => (
          <Row key={i.request.id} item={i} chosen={chosen.get(i.request.id) === i.request.inputSha256} opened={opened.get(i.request.id)} pick={pick} open={open} />
        ))}
      </ul>
    </section>
  );
}

const none: ReadonlySet<string> = new Set();
const slowly = computed(() => Math.floor(now.value / 5000) * 5000); // a thousand bars need not move each second

interface RowProps {
  item: Item;
  chosen: boolean;
  opened: ReadonlySet<string> | undefined;
  pick(items: readonly Item[], yes: boolean): boolean;
  open(id: string, name: string): void;
}

/** Among a thousand rows only those that changed are made anew. */
function Row(props: RowProps) {
  const { item, chosen, opened = none } = props;
  const [alone, setAlone] = useState(false);
  return useMemo(() => <Exactly {...props} opened={opened} alone={alone} setAlone={setAlone} />, [item, chosen, opened, alone]);
}

interface ExactlyProps extends RowProps {
  alone: boolean;
  setAlone(yes: boolean): void;
}

function Exactly({ item, chosen, opened = none, pick, open, alone, setAlone }: ExactlyProps) {
  const { request: r } = item;
  const shown = shownOf(item);
  const verb = shown?.verb ?? words.card.use(visibleLine(r.toolName));
  const where = visibleLine(sessionName(r));
  const line = outcomeLine(item, Date.now() - clockSkew) ?? (item.attempt?.phase === "failed" ? { text: item.attempt.why, tone: "bad" } : undefined);
  const free = canAnswer(item);
  const byItself = hindrance(item, partsFor(item), opened, true) === "own";
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
  return (
    <li class={`one${chosen && free ? " chosen" : ""}${free ? "" : " over"}`} data-ui="row" data-state={free ? undefined : "over"} data-request={r.id}>
      <label class="pick">
        <input
          type="checkbox"
          checked={chosen && free}
          disabled={!free || !mayDecide()}
          aria-label={words.inbox.choose(verb, where)}
          onClick={(e) => {
            if (!pick([item], !chosen)) e.preventDefault();
          }}
        />
      </label>
      <div>
        <div class="where">
          <b>{where}</b>
          {r.repo?.branch && <span class="branch">{visibleLine(r.repo.branch)}</span>}
          <span>{verb}</span>
          {!item.endedAt && <Left item={item} />}
        </div>
        <Parts request={item.whole ?? r} parts={partsFor(item)} opened={opened} open={(name) => open(r.id, name)} />
        {line && <p class={`outcome ${line.tone}`}>{line.text}</p>}
        {free && (byItself || !mayDecide()) && (
          <button type="button" class="link" onClick={() => setAlone(true)}>
            {words.inbox.byItself}
          </button>
        )}
      </div>
    </li>
  );
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

/** Brings the first of these rows to the screen. */
function toUnseen(items: readonly Item[]): void {
  const id = items[0]?.request.id;
  if (id) document.querySelector(`.one[data-request="${CSS.escape(id)}"]`)?.scrollIntoView({ block: "center" });
}

interface BarProps {
  at: RefObject<HTMLDivElement | null>;
  chosen: Chosen;
  opened: Opened;
  seen: ReadonlySignal<ReadonlySet<string>>;
  choose(c: Chosen): void;
  /** What became of the last answer. */
  said: string;
  say(text: string): void;
}

/** What is done with the chosen ones, at the foot of the screen. */
function Bar({ at, chosen, opened, seen: rows, choose, said, say }: BarProps) {
  const seen = rows.value;
  const [sending, setSending] = useState(false);
  const key = [useTall(), ...chosen.keys()].join();
  const ready = useStill(key);
  const [armed, setArmed] = useState(true);
  useLayoutEffect(() => { // before anybody sees the new number beside a button that looks ready
    setArmed(false);
    const timer = setTimeout(() => setArmed(true), still);
    return () => clearTimeout(timer);
  }, [key]);
  const { good, stale } = standing(chosen, allItems.value);
  const blocks = good.map((i) => hindrance(i, partsFor(i), opened.get(i.request.id), seen.has(i.request.id)));
  const unseen = blocks.filter((b) => b === "unseen").length;
  const own = blocks.filter((b) => b === "own").length;
  const offline = link.value !== "live";
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
        {!said && !offline && unseen > 0 && own === 0 && (
          <button type="button" class="link" onClick={() => toUnseen(good.filter((i) => !seen.has(i.request.id) || hindrance(i, partsFor(i), opened.get(i.request.id), true) !== ""))}>
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
