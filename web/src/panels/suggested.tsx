// Rules for what people allowed again and again, each to be used or put off. For admins only: the broker
// has to look for them.
import { useEffect, useState } from "preact/hooks";
import { getSuggestions, keep } from "../broker/api";
import { now } from "../broker/clock";
import { ApiError, reason } from "../broker/http";
import type { Suggestions } from "../broker/types.gen";
import { HowLong } from "../card/always";
import { boundOf, type Scope } from "../card/remember";
import { ownDevice } from "../device/session";
import { agoWords } from "../queue/model";
import { Ticked } from "../text/rich";
import { visibleLine, visibleText } from "../text/visible";
import { words } from "../text/words/all";
import { putOff, standsOff } from "./putoff";
import { Sure } from "./devices";

type Suggestion = Suggestions["suggestions"][number];

export function Suggested({ again }: { again(): void }) {
  const mayAsk = (ownDevice()?.role ?? "admin") === "admin"; // of a token only the broker knows
  const [found, setFound] = useState<Suggestions>();
  const [wrong, setWrong] = useState("");
  const [, redraw] = useState(0);
  useEffect(() => {
    let gone = false;
    if (mayAsk)
      getSuggestions().then(
        (s) => gone || setFound(s),
        (e: unknown) => gone || (e instanceof ApiError && e.status === 403) || setWrong(reason(e)),
      );
    return () => void (gone = true);
  }, []);
  if (wrong) return <p class="notice">{words.book.noSuggestions(wrong)}</p>;
  const list = found?.suggestions.filter((x) => !standsOff(x.rule));
  if (!found || !list?.length) return null;
  const without = (x: Suggestion) => setFound({ ...found, suggestions: found.suggestions.filter((y) => y !== x) });
  return (
    <>
      <h3>{words.book.suggested}</h3>
      <p class="quiet">{words.book.suggestedFrom(found.examined)}</p>
      <ul class="rows">
        {list.map((x) => (
          <Row
            key={x.rule}
            x={x}
            saved={() => {
              without(x);
              again();
            }}
            later={() => {
              putOff(x.rule);
              redraw((k) => k + 1);
            }}
          />
        ))}
      </ul>
    </>
  );
}

function Row({ x, saved, later }: { x: Suggestion; saved(): void; later(): void }) {
  const [chosen, choose] = useState<Scope>(); // undefined: not to be used yet
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const save = (scope: Scope) => {
    if (busy) return;
    setBusy(true);
    setError("");
    keep({ id: x.requestId, inputSha256: x.inputSha256 }, x.proposal, { ...boundOf({ digest: x.proposal, sentence: x.sentence, scope }), suggested: true }).then(saved, (e: unknown) => {
      setBusy(false);
      choose(undefined);
      setError(reason(e));
    });
  };
  return (
    <li class="rule" data-ui="suggested">
      <b>
        <Ticked text={visibleText(x.sentence)} />
      </b>
      <div class="where">{words.book.wouldAnswer(x.answers)}</div>
      <div class="where">
        {words.book.newest} <code>{visibleLine(x.newest.text)}</code> · {agoWords(now.value - Date.parse(x.newest.createdAt))}
      </div>
      {x.warnings?.map((w, i) => (
        <small class="warning" key={i}>
          <Ticked text={visibleText(w)} />
        </small>
      ))}
      <details open={chosen !== undefined}>
        <summary>{words.proposals.written}</summary>
        <pre>{visibleText(x.rule)}</pre>
      </details>
      {chosen !== undefined ? (
        <>
          <HowLong id={x.proposal} scope={chosen} disabled={busy} choose={choose} />
          <div class="act">
            <Sure word={words.book.save} look="allow" keep={words.book.keepAsking} yes={() => save(chosen)} no={() => choose(undefined)} />
          </div>
        </>
      ) : (
        <div class="act">
          <button type="button" class="small" data-action="use" onClick={() => choose("rule")}>
            {words.book.use}
          </button>
          <button type="button" class="small" data-action="not-now" onClick={later}>
            {words.book.notNow}
          </button>
        </div>
      )}
      {error && (
        <p class="outcome bad" role="alert">
          {words.book.notSaved(error)}
        </p>
      )}
    </li>
  );
}
