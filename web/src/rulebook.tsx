// The rules in force, what is wrong with their files, what is granted, and when each last fired.
import { useEffect, useState } from "preact/hooks";
import { getRules, listGrants, revokeGrant } from "./api";
import { now } from "./clock";
import { Sure } from "./devices";
import { reason, sentence } from "./http";
import { agoWords, approver, since } from "./model";
import { Rich } from "./rich";
import { mayDecide } from "./session";
import { ruleTrouble } from "./state";
import type { Rules, Saved } from "./types.gen";
import { visibleLine, visibleText } from "./visible";
import { words } from "./words";

const few = 100; // rules that are shown at first; packs bring hundreds

type Rule = Rules["rules"][number];

export function RuleBook() {
  const [book, setBook] = useState<Rules>();
  const [grants, setGrants] = useState<readonly Saved[]>();
  const [error, setError] = useState("");
  const load = () => {
    setError("");
    getRules().then(setBook, (e: unknown) => setError(sentence(e)));
    listGrants().then(setGrants, () => setGrants(undefined));
  };
  useEffect(load, [ruleTrouble.value]);
  return (
    <section class="panel book" aria-labelledby="book">
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
      {grants && <Grants list={grants} again={load} />}
      {book && <Book book={book} />}
    </section>
  );
}

function Book({ book }: { book: Rules }) {
  const [find, setFind] = useState("");
  const [all, setAll] = useState(false);
  const looked = find.toLowerCase();
  const fitting = book.rules
    .filter((r) => !looked || `${r.id} ${r.text ?? ""} ${r.file} ${r.action}`.toLowerCase().includes(looked))
    .sort((a, b) => (b.lastFired ?? "").localeCompare(a.lastFired ?? "") || b.fired - a.fired);
  return (
    <>
      {book.rules.length === 0 ? (
        <p class="quiet">
          <Rich text={words.book.none} />
        </p>
      ) : (
        <>
          <h3>{words.book.rules}</h3>
          <input type="search" class="find" aria-label={words.book.search} placeholder={words.book.search} maxLength={200} value={find} onInput={(e) => setFind(e.currentTarget.value)} />
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
                  {visibleLine(n.file)}
                  {n.line ? `:${n.line}` : ""}
                </code>{" "}
                {visibleLine(n.message)}
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
                <code>{visibleLine(f.path)}</code> {words.book.states[f.state]}
                {f.loadedAt && `, ${words.book.loaded(ago(f.loadedAt))}`}
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

function RuleRow({ r }: { r: Rule }) {
  return (
    <li class="rule">
      <div class="where">
        <span class={`verdict says-${r.action}`}>{words.book.actions[r.action]}</span>
        <b>{visibleLine(r.id)}</b>
        {r.shadow && <span class="chip">{words.book.trial}</span>}
        <span class="age">{r.lastFired ? words.book.fired(r.fired, ago(r.lastFired)) : words.book.never}</span>
      </div>
      {r.text && r.text !== r.id && <pre>{visibleText(r.text)}</pre>}
      <small>
        {visibleLine(r.file)}
        {r.line ? `:${r.line}` : ""}
      </small>
    </li>
  );
}

function Grants({ list, again }: { list: readonly Saved[]; again(): void }) {
  return (
    <>
      <h3>{words.book.grants}</h3>
      {list.length === 0 && <p class="quiet">{words.book.noGrants}</p>}
      <ul class="rows">
        {list.map((g) => (
          <GrantRow key={g.id} g={g} again={again} />
        ))}
      </ul>
    </>
  );
}

function GrantRow({ g, again }: { g: Saved; again(): void }) {
  const [asked, ask] = useState(false);
  const [error, setError] = useState("");
  const active = g.state === "active";
  const end = () => {
    revokeGrant(g.id).then(again, (e: unknown) => {
      ask(false);
      setError(reason(e));
    });
  };
  return (
    <li class={active ? "rule" : "rule gone"}>
      <div class="where">
        <b>{g.sentence}</b>
        <span class="age">{g.lastFired ? words.book.fired(g.fired ?? g.spent ?? 1, ago(g.lastFired)) : words.book.never}</span>
      </div>
      <div class="where">
        <span>{words.book.grantStates[g.state] ?? visibleLine(g.state)}</span>
        {active && g.expiresAt && <span>{words.book.left(since(Math.max(0, Date.parse(g.expiresAt) - now.value)))}</span>}
        {g.count ? <span>{words.book.spent(g.spent ?? 0, g.count)}</span> : null}
        <span>{words.book.grantedBy(approver(g.by))}</span>
      </div>
      {active && mayDecide() && (
        <div class="act">
          {asked ? (
            <Sure word={words.book.revokeNow} yes={end} no={() => ask(false)} />
          ) : (
            <button type="button" class="small ask" onClick={() => ask(true)}>
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

function ago(at: string): string {
  return agoWords(now.value - Date.parse(at));
}
