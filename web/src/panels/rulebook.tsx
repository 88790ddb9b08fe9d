// The rules in force, what is wrong with their files, what is granted, and when each last matched.
import { useEffect, useState } from "preact/hooks";
import { getRules, listGrants, revokeSaved } from "../broker/api";
import { now } from "../broker/clock";
import { reason, sentence } from "../broker/http";
import type { Rules, Saved } from "../broker/types.gen";
import { mayDecide } from "../device/session";
import { agoWords, approver, since } from "../queue/model";
import { ruleTrouble } from "../queue/state";
import { Paths, Rich, Ticked } from "../text/rich";
import { visibleLine, visibleText } from "../text/visible";
import { words } from "../text/words/all";
import { Sure } from "./devices";
import { Suggested } from "./suggested";

const few = 100; // rules that are shown at first; packs bring hundreds

type Rule = Rules["rules"][number];

export function RuleBook() {
  const [book, setBook] = useState<Rules>();
  const [grants, setGrants] = useState<readonly Saved[]>([]);
  const [error, setError] = useState("");
  const load = () => {
    setError("");
    getRules().then(setBook, (e: unknown) => setError(sentence(e)));
    listGrants().then(setGrants, (e: unknown) => setError(sentence(e)));
  };
  useEffect(load, [ruleTrouble.value]);
  return (
    <section class="panel book" data-ui="book" aria-labelledby="book">
      <h2 id="book">{words.book.head}</h2>
      {error && (
        <p class="notice" role="alert">
          {error}{" "}
          <button type="button" class="link" onClick={load}>
            {words.tryAgain}
          </button>
        </p>
      )}
      {!book && !error && <p class="quiet">{words.devices.asking}</p>}
      {book && <Suggested again={load} />}
      {book && <Remembered list={[...grants, ...(book.saved ?? [])]} again={load} />}
      {book && <Book book={book} saved={new Set([...grants, ...(book.saved ?? [])].map((x) => x.id))} active={[...grants, ...(book.saved ?? [])].some((x) => x.state === "active")} />}
    </section>
  );
}

function Book({ book, saved, active }: { book: Rules; saved: ReadonlySet<string>; active: boolean }) {
  const [find, setFind] = useState("");
  const [all, setAll] = useState(false);
  const looked = find.toLowerCase();
  const rules = book.rules.filter((r) => !saved.has(baseOf(r.id))); // those have their own list
  const fitting = rules
    .filter((r) => !looked || `${r.id} ${r.text ?? ""} ${r.file} ${r.action}`.toLowerCase().includes(looked))
    .sort((a, b) => (b.lastMatch ?? "").localeCompare(a.lastMatch ?? "") || b.matches - a.matches);
  return (
    <>
      <h3>{words.book.rules}</h3>
      {rules.length === 0 ? (
        <p class="quiet">
          <Rich text={words.book.none(active)} />
        </p>
      ) : (
        <>
          <input type="search" class="find" data-ui="find" aria-label={words.book.search} placeholder={words.book.search} maxLength={200} value={find} onInput={(e) => setFind(e.currentTarget.value)} />
          <p class="quiet">{words.book.since}</p>
          {fitting.length === 0 && <p class="quiet">{words.book.noMatch}</p>}
          <ul class="rows">
            {fitting.slice(0, all ? undefined : few).map((r) => (
              <RuleRow key={`${r.file}\n${r.id}\n${r.line ?? 0}`} r={r} />
            ))}
          </ul>
          {!all && fitting.length > few && (
            <button type="button" class="more" onClick={() => setAll(true)}>
              {words.book.showAll(fitting.length)}
            </button>
          )}
        </>
      )}
      {book.notices.length > 0 && (
        <>
          <h3>{words.book.notices}</h3>
          <ul class="plain">
            {book.notices.map((n, i) => (
              <li key={i}>
                <code>
                  <At file={n.file} line={n.line} />
                </code>{" "}
                <Ticked text={visibleLine(n.message)} />
              </li>
            ))}
          </ul>
        </>
      )}
      {book.files.length > 0 && (
        <>
          <h3>{words.book.files}</h3>
          <ul class="plain">
            {book.files.map((f) => (
              <li key={f.path}>
                <code>
                  <At file={f.path} line={0} />
                </code> {words.book.states[f.state]}
                {f.loadedAt && `, ${words.book.loaded(ago(f.loadedAt))}`}
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

function At({ file, line }: { file: string; line: number | undefined }) {
  return <Paths text={visibleLine(file) + (line ? `:${line}` : "")} />;
}

function RuleRow({ r }: { r: Rule }) {
  return (
    <li class="rule" data-ui="rule">
      <div class="where">
        <span class={`verdict says-${r.action}`}>{words.book.actions[r.action]}</span>
        <b>{visibleLine(r.id)}</b>
        {r.shadow && <span class="chip">{words.book.trial}</span>}
        <span class="age">{r.lastMatch ? words.book.matched(r.matches, ago(r.lastMatch)) : words.book.never}</span>
      </div>
      {r.text && r.text !== r.id && r.text !== `${r.action}: ${r.id}` && <pre>{visibleText(r.text)}</pre>}
      <small>
        <At file={r.file} line={r.line} />
      </small>
    </li>
  );
}

/** What approvers had assent remember: what holds, the newest first, and behind a tap what is over. */
function Remembered({ list, again }: { list: readonly Saved[]; again(): void }) {
  const sorted = [...list].sort((a, b) => b.createdAt.localeCompare(a.createdAt));
  const active = sorted.filter((x) => x.state === "active");
  const over = sorted.filter((x) => x.state !== "active");
  return (
    <>
      <h3>{words.book.grants}</h3>
      {active.length === 0 && <p class="quiet">{words.book.noGrants}</p>}
      <ul class="rows">
        {active.map((x) => (
          <SavedRow key={x.id} x={x} again={again} />
        ))}
      </ul>
      {over.length > 0 && (
        <details>
          <summary>{words.book.over(over.length)}</summary>
          <ul class="rows">
            {over.slice(0, few).map((x) => (
              <SavedRow key={x.id} x={x} again={again} />
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

function SavedRow({ x, again }: { x: Saved; again(): void }) {
  const [asked, ask] = useState(false);
  const [error, setError] = useState("");
  const active = x.state === "active";
  const end = () => {
    revokeSaved(x.kind, x.id).then(again, (e: unknown) => {
      ask(false);
      setError(reason(e));
    });
  };
  return (
    <li class={active ? "rule" : "rule gone"} data-ui="rule" data-state={active ? undefined : "gone"}>
      <b>
        <Ticked text={visibleText(x.sentence)} />
      </b>
      <div class="where">
        {[active ? holdsFor(x) : (words.book.grantStates[x.state] ?? visibleLine(x.state)), usesOf(x), words.book.grantedBy(approver(x.by))].filter(Boolean).join(" · ")}
      </div>
      {active && mayDecide() && (
        <div class="act">
          {asked ? (
            <Sure word={words.book.revokeNow} yes={end} no={() => ask(false)} />
          ) : (
            <button type="button" class="small ask" data-action="revoke" onClick={() => ask(true)}>
              {words.book.revoke}
            </button>
          )}
        </div>
      )}
      {error && (
        <p class="outcome bad" role="alert">
          {words.book.notRevoked(error)}
        </p>
      )}
    </li>
  );
}

function holdsFor(x: Saved): string {
  if (x.expiresAt) return words.book.left(since(Math.max(0, Date.parse(x.expiresAt) - now.value)));
  return x.count ? "" : words.book.forGood;
}

/** How often it was used, as far as that is known. */
function usesOf(x: Saved): string {
  const last = x.lastMatch ? ago(x.lastMatch) : "";
  if (x.count) return words.book.spent(x.spent ?? 0, x.count, last);
  if (last) return words.book.used(x.matches, last);
  return x.state === "active" ? words.book.unused : "";
}

/** Of several rules that were saved together, the others are named id/2, id/3. */
function baseOf(id: string): string {
  return id.split("/")[0]!;
}

function ago(at: string): string {
  return agoWords(now.value - Date.parse(at));
}
