// For a browser that the broker does not know: two ways in, and what stands against them. It comes when it is
// wanted (outside.tsx).
import { useEffect, useRef, useState } from "preact/hooks";
import { ownName } from "../broker/api";
import { now } from "../broker/clock";
import { keepsNothing, standing, trouble } from "../queue/state";
import { Rich } from "../text/rich";
import { words as first } from "../text/words";
import { doorWords } from "../text/words/door";
import { canSign, type Pending } from "./device";
import { NotFound } from "./notfound";
import { again, cancelPairing, enter, pairHere, pending, silent } from "./entry";

const words = { ...first, ...doorWords };

export function Door() {
  const s = standing.value;
  if (s === "busy") return <main class="door" aria-busy="true"><p class="quiet">{words.oneMoment}</p></main>;
  if (s === "waiting" && pending.value) return <Code of={pending.value} />;
  return (
    <main class="door">
      <h2>{words.door.head}</h2>
      {trouble.value && (
        <p class="notice" data-ui="notice" role="alert">
          {trouble.value}
        </p>
      )}
      {canSign() ? <Ways /> : <NoKeys />}
    </main>
  );
}

function Ways() {
  return (
    <>
      <p>{words.door.ways}</p>
      <KeepsNothing />
      <button type="button" class="allow" data-action="pair" onClick={() => void pairHere()}>
        {again.value ? words.door.newCode : words.door.fromHere}
      </button>
      <p class="quiet">{words.door.showsCode}</p>
      <h3>{words.door.onMachine}</h3>
      <p>
        <Rich text={words.door.runPair} />
      </p>
      <Paste />
      <p class="quiet">
        <Rich text={words.door.tokenHint} />
      </p>
    </>
  );
}

/** Plain http beyond the machine itself: browsers have no keys there, and the broker takes no calls from such a page. */
function NoKeys() {
  return (
    <>
      <p class="notice" data-ui="notice">
        {words.door.noKeys}
      </p>
      <p>{words.door.waysOut}</p>
      <ul>
        {words.door.waysOutList.map((way, i) => (
          <li key={i}>
            <Rich text={way} />
          </li>
        ))}
      </ul>
    </>
  );
}

function KeepsNothing() {
  if (!keepsNothing.value) return null;
  return <p class="notice" data-ui="notice">{words.door.keepsNothing}</p>;
}

function Paste() {
  const [text, setText] = useState("");
  return (
    <form
      onSubmit={(e) => {
        e.preventDefault();
        if (text.trim()) void enter(text);
      }}
    >
      <label>
        <span class="label">{words.door.paste}</span>
        <input type="password" autocomplete="off" autocapitalize="off" spellcheck={false} value={text} onInput={(e) => setText(e.currentTarget.value)} />
      </label>
      <button type="submit" class="third">
        {words.door.goOn}
      </button>
    </form>
  );
}

/** The code, for somebody to type on the machine. */
function Code({ of: { code, expiresAt } }: { of: Pending }) {
  const main = useRef<HTMLElement>(null);
  useEffect(() => main.current?.focus({ preventScroll: true }), []); // the button that was tapped is gone
  const left = Math.max(0, Math.floor((Date.parse(expiresAt) - now.value) / 1000));
  return (
    <main class="door" ref={main} tabIndex={-1} aria-labelledby="door">
      <h2 id="door">{words.door.typeThis}</h2>
      <p class="code" role="img" aria-label={[...code].join(" ")}>
        {code}
      </p>
      <p>{words.door.inTerminal}</p>
      <pre class="code-line">assent pair {code}</pre>
      <NotFound />
      <p>
        <Rich text={words.door.asksWhether} put={{ name: ownName() }} />
      </p>
      <KeepsNothing />
      <p class="quiet" role="timer">
        {left > 0 ? words.door.goodFor(minutes(left)) : words.door.wasTyped}
      </p>
      <p class="silent" role="status">
        {silent.value && words.door.silent}
      </p>
      <button type="button" class="third" data-action="cancel" onClick={() => void cancelPairing()}>
        {words.door.cancel}
      </button>
    </main>
  );
}

function minutes(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}
