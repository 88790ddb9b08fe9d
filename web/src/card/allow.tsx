// The button that allows. Of what is dangerous it wants to be held; a keyboard, and what speaks for
// one (switches, screen readers), presses it twice instead.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { pressed } from "../queue/press";
import { words } from "../text/words";

const holds = 800; // ms; answer.css fills the button in the same time
const pause = 500; // ms between two presses
const forget = 5000; // ms, after which the first of two presses is forgotten, and that a press was too short
const longLabel = 15; // characters; more are written smaller

interface Props {
  id: string;
  label: string;
  /** What is allowed, and where, for who cannot see what it stands below. */
  about: string;
  /** Whether it wants to be held. */
  hold: boolean;
  off: boolean;
  busy: boolean;
  /** The id of what says why it is off. */
  describedBy: string | undefined;
  /** Whether it may be pressed at this moment; see useArm. */
  ready(): boolean;
  allow(): void;
}

type Stage = "" | "holding" | "short" | "again";

export function AllowButton({ id, label, about, hold, off, busy, describedBy, ready, allow }: Props) {
  const [stage, setStage] = useState<Stage>("");
  const first = useRef(-Infinity); // when the first of two presses was, by performance.now()
  const virtual = useRef(false); // what pressed last has no place on the screen
  const holding = useRef<AbortController>(undefined);
  const forgets = useRef<ReturnType<typeof setTimeout>>(undefined);
  const done = useRef(allow);
  done.current = allow;
  const to = (next: Stage) => {
    holding.current?.abort();
    clearTimeout(forgets.current);
    if (next && next !== "holding") forgets.current = setTimeout(() => setStage(""), forget);
    setStage(next);
  };
  // Another request, or one that cannot be allowed any more, begins from the beginning.
  useLayoutEffect(() => () => to(""), [id, hold, off]);

  /** Not in an effect: the finger may be lifted before there is one. */
  const begin = (button: HTMLElement) => {
    to("holding");
    const { signal } = (holding.current = new AbortController());
    const lift = () => to("short");
    const on = { capture: true, signal } as const;
    setTimeout(() => signal.aborted || addEventListener("pointerdown", lift, on)); // a second finger
    for (const end of ["pointerup", "pointercancel", "scroll", "resize", "blur", "keydown"]) addEventListener(end, lift, on);
    document.addEventListener("visibilitychange", lift, on);
    addEventListener("pointermove", (e) => {
      const box = button.getBoundingClientRect();
      if (e.clientX < box.left || e.clientX > box.right || e.clientY < box.top || e.clientY > box.bottom) lift();
    }, on);
    // What ended it while the page was busy is heard before the next frame.
    const timer = setTimeout(() => requestAnimationFrame(() => {
      if (signal.aborted) return;
      if (!pressed.peek() || !ready()) return lift();
      to("");
      done.current();
    }), holds);
    signal.addEventListener("abort", () => clearTimeout(timer));
  };

  const press = (e: MouseEvent) => {
    if (off || !ready()) return to("");
    if (!hold) return done.current();
    if (e.detail !== 0 && !virtual.current) return; // a finger or a mouse: that has to hold
    const now = performance.now();
    if (stage === "again" && now - first.current >= pause) {
      to("");
      return done.current();
    }
    first.current = now;
    to("again");
  };
  const state = busy ? "busy" : stage || undefined;
  const text = { "": label, again: words.answer.again, holding: words.answer.holding, short: words.answer.tooShort }[stage];
  return (
    <>
      <button
        type="button"
        class={`allow${hold ? " held" : ""}${busy ? " busy" : ""}`}
        data-action="allow"
        data-press={hold ? "hold" : "tap"}
        data-state={state}
        aria-disabled={off}
        aria-label={words.answer.about(text, about)}
        aria-describedby={[describedBy, hold && `${id}-press`].filter(Boolean).join(" ") || undefined}
        onPointerDown={(e) => {
          virtual.current = e.width === 0 && e.height === 0; // as screen readers press
          if (hold && !virtual.current && !off && e.isPrimary && e.button === 0 && ready()) begin(e.currentTarget);
        }}
        onKeyDown={(e) => {
          virtual.current = false;
          if (e.repeat) e.preventDefault(); // a key that stays down is one press
        }}
        onContextMenu={(e) => hold && e.preventDefault()} // of a long press
        onClick={press}
      >
        <span class={text.length > longLabel ? "long" : undefined}>{text}</span>
      </button>
      {hold && <span class="unseen" id={`${id}-press`}>{words.answer.howToHold}</span>}
      {hold && <span class="unseen" role="status">{stage === "again" || stage === "short" ? text : ""}</span>}
    </>
  );
}
