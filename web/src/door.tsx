// For a browser that the broker does not know: two ways in, and what stands against them.
import { useEffect, useRef, useState } from "preact/hooks";
import { ownName } from "./api";
import { now } from "./clock";
import { canSign, type Pending } from "./device";
import { again, cancelPairing, enter, pairHere, pending, silent } from "./entry";
import { keepsNothing, standing, trouble } from "./state";

export function Door() {
  const s = standing.value;
  if (s === "starting") return <main class="door" aria-busy="true" />;
  if (s === "busy") return <main class="door" aria-busy="true"><p class="quiet">One moment…</p></main>;
  if (s === "waiting" && pending.value) return <Code of={pending.value} />;
  return (
    <main class="door">
      <h2>Pair this browser</h2>
      {trouble.value && (
        <p class="notice" role="alert">
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
      <p>Somebody at the machine where assent runs has to let it in, once.</p>
      <KeepsNothing />
      <button type="button" class="allow" onClick={() => void pairHere()}>
        {again.value ? "New code" : "Pair from here"}
      </button>
      <p class="quiet">Shows a short code to type on that machine.</p>
      <h3>Or start on the machine</h3>
      <p>
        Run <code>assent pair</code> there. Open the link that it prints in this browser, or paste it here. It works once, for five minutes.
      </p>
      <Paste />
      <p class="quiet">
        A token (<code>assent token create</code>) works until the page is closed.
      </p>
    </>
  );
}

/** Plain http beyond the machine itself: browsers have no keys there, and the broker takes no calls from such a page. */
function NoKeys() {
  return (
    <>
      <p class="notice">
        This page was opened by plain http. Browsers keep keys only for https and for the machine itself, so this browser cannot be paired at this address.
      </p>
      <p>Ways out:</p>
      <ul>
        <li>
          Open the broker by https. With tailscale serve, Caddy or your own certificate it takes a few minutes: see <code>docs/phone.md</code>.
        </li>
        <li>
          On the machine where assent runs, open <code>http://127.0.0.1</code> with the broker's port.
        </li>
      </ul>
    </>
  );
}

function KeepsNothing() {
  if (!keepsNothing.value) return null;
  return <p class="notice">This browser keeps nothing for this page: it is a private window, or site data is blocked. A pairing will last until the page is closed.</p>;
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
        <span class="label">Link, code or token</span>
        <input type="password" autocomplete="off" autocapitalize="off" spellcheck={false} value={text} onInput={(e) => setText(e.currentTarget.value)} />
      </label>
      <button type="submit" class="third">
        Continue
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
      <h2 id="door">Type this on the machine</h2>
      <p class="code" role="img" aria-label={[...code].join(" ")}>
        {code}
      </p>
      <p>In a terminal on the machine where assent runs:</p>
      <pre class="code-line">assent pair {code}</pre>
      <NotFound />
      <p>
        It asks whether to let in <b>{ownName()}</b>. Say yes, and this page goes on by itself.
      </p>
      <KeepsNothing />
      <p class="quiet" role="timer">
        {left > 0 ? `The code is good for ${minutes(left)}.` : "Asking the broker whether the code was typed…"}
      </p>
      <p class="silent" role="status">
        {silent.value && "No answer from the broker; trying again."}
      </p>
      <button type="button" class="third" onClick={() => void cancelPairing()}>
        Cancel
      </button>
    </main>
  );
}

/** For those who built assent and did not put it on their PATH. */
export function NotFound() {
  return (
    <p class="quiet">
      Command not found? Write <code>bin/assent</code> in the directory where you built it.
    </p>
  );
}

function minutes(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}
