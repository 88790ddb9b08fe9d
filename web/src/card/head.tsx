// The head of a card: how bad it could be, where it would happen, and what would happen, all in
// assent's own words.
import { computed } from "@preact/signals";
import { useState } from "preact/hooks";
import { now } from "../broker/clock";
import type { Effect } from "../broker/types.gen";
import { AgentMark } from "../queue/agent";
import { repoName, sessionName, since, wantsMore, type Item } from "../queue/model";
import { items } from "../queue/state";
import { dangerous } from "../queue/friction";
import { Paths, Ticked } from "../text/rich";
import { visibleLine } from "../text/visible";
import { words } from "../text/words";

/** Danger or attention, and the one reason. Nothing where there is neither. */
export function RiskStrip({ item: { request: r } }: { item: Item }) {
  const risk = dangerous(r) ? "danger" : (r.risk ?? "attention");
  if (risk === "calm" || risk === "normal" || wantsMore(r)) return null;
  return (
    <p class={`risk ${risk}`} data-ui="risk" data-state={risk}>
      <b>{words.card.risks[risk]}</b> <Ticked text={reasonOf(r.riskReason ?? "", r.sentence ?? "")} />
    </p>
  );
}

/** The reason without what the headline says, too: of "Cannot be undone: deletes build." the first half. */
export function reasonOf(reason: string, sentence: string): string {
  const at = reason.indexOf(": ");
  const rest = reason.slice(at + 2).replace(/\.$/, "");
  return at > 0 && sentence.toLowerCase().includes(rest.toLowerCase()) ? `${reason.slice(0, at)}.` : reason;
}

/** Sessions run on several machines: then it matters on which. */
const severalHosts = computed(() => new Set([...items.value.values()].map((i) => i.request.host)).size > 1);

export function Where({ item: { request: r } }: { item: Item }) {
  const repo = repoName(r);
  const head = r.repo?.head?.slice(0, 8);
  return (
    <div class="where">
      <div>
        <Name as="b" id={`session-${r.id}`} of={sessionName(r)} whole={r.cwd} />
        <AgentMark of={r} />
        {repo && <Name of={repo} whole={r.repo?.root} />}
        {(r.repo?.branch || head) && <Name of={r.repo?.branch || words.card.atCommit(head!)} />}
        {(r.machine ?? (severalHosts.value && r.host)) && <span><bdi>{visibleLine(r.machine ?? r.host!)}</bdi></span>}
        {!!r.allowedHere && <span data-ui="allowed-here">{words.card.allowedHere(r.allowedHere)}</span>}
        {r.agentLabel && <span><bdi>{visibleLine(r.agentLabel)}</bdi></span>}
        <Sample of={r} />
        {(r.agentId || r.agentType) && <span class="chip">{words.card.subagent(visibleLine(r.agentType ?? ""))}</span>}
      </div>
      <time class="age" data-ui="age" dateTime={r.createdAt}>
        {words.card.asked(since(Math.max(0, now.value - Date.parse(r.createdAt))))}
      </time>
    </div>
  );
}

/** A name; of a long one its two ends, and the whole of it, with where it lies, on demand. */
function Name({ as: As = "span", id, of, whole = of }: { as?: "b" | "span"; id?: string; of: string; whole?: string | undefined }) {
  const [all, setAll] = useState(false);
  const name = visibleLine(of);
  const ends = twoEnds(name);
  return (
    <>
      <As id={id}><bdi>{all ? visibleLine(whole) : ends}</bdi></As>
      {ends !== name && (
        <button type="button" class="link" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? words.past.less : words.context.all(visibleLine(whole).length)}
        </button>
      )}
    </>
  );
}

/** A long name without its middle. */
export function twoEnds(name: string): string {
  const c = [...name];
  return c.length > 48 ? `${c.slice(0, 22).join("")}…${c.slice(-22).join("")}` : name;
}

/** That nothing ran or runs: assent made the request up. */
export function Sample({ of }: { of: { sessionId: string } }) {
  return of.sessionId.startsWith("simulated-") ? <span class="chip sample" title={words.card.sampleHint}>{words.card.sample}</span> : null;
}

/** What it would do, thing by thing, the worst first; nothing where the headline has said all. */
export function Effects({ item: { request: r } }: { item: Item }) {
  const all = r.effects ?? [];
  const more = r.moreEffects ?? 0;
  if (all.length + more < 2) return null;
  return (
    <ul class="effects" data-ui="effects">
      {grouped(all).map((g, i) => (
        <li key={i} class={g.things.length > 0 ? g.risk : `${g.risk} alone`} data-ui="effect" data-state={g.risk}>
          <b>{g.verb}</b>{" "}
          <span>
            {g.things.map((t, k) => (
              <span key={k}>
                {k > 0 && ", "}
                <Paths text={t} />
              </span>
            ))}
            {g.outside && <small> {words.card.outside}</small>}
          </span>
        </li>
      ))}
      {more > 0 && <li>{words.card.moreEffects(more)}</li>}
    </ul>
  );
}

/** What these are done to is no file: a host, a table. */
const elsewhere: ReadonlySet<Effect["effect"]> = new Set<Effect["effect"]>(["publishes", "sends", "downloads", "runs-downloaded", "database", "kills", "asks", "unknown", "other"]);

interface Together {
  verb: string;
  risk: Effect["risk"];
  outside: boolean;
  things: string[];
}

/** Effects of one kind and risk stand together. */
export function grouped(effects: readonly Effect[]): Together[] {
  const out = new Map<string, Together>();
  for (const e of effects) {
    const outside = e.outside && !elsewhere.has(e.effect);
    const key = `${e.effect} ${e.risk} ${outside}`;
    const g = out.get(key);
    if (!e.object) out.set(e.text, { verb: e.text, risk: e.risk, outside, things: [] });
    else if (!g) out.set(key, { verb: words.card.effects[e.effect], risk: e.risk, outside, things: [e.object] });
    else if (!g.things.includes(e.object)) g.things.push(e.object);
  }
  return [...out.values()];
}
