// Whether and when this browser shows notifications.
import { useEffect, useState } from "preact/hooks";
import { now } from "../broker/clock";
import { ApiError, reason, sentence } from "../broker/http";
import type { Push, PushSettings } from "../broker/types.gen";
import { hindrance, pushState, savePushSettings, subscribe, testPush, unsubscribe } from "../device/push";
import { ownDevice } from "../device/session";
import { agoWords } from "../queue/model";
import { sessions } from "../queue/state";
import { sessionNames } from "../story/rail";
import { visibleLine } from "../text/visible";
import { words } from "../text/words/all";
import { Switch } from "./switch";

const w = words.notify;

export function Notifications() {
  const [push, setPush] = useState<Push>();
  const [busy, setBusy] = useState(false);
  const [said, say] = useState("");
  const [error, setError] = useState("");
  const why = ownDevice() ? hindrance() : "token";
  const work = (what: Promise<Push | void>, done: string, meanwhile = "") => {
    setBusy(true);
    setError("");
    say(meanwhile);
    what
      .then(
        (p) => {
          if (p) setPush(p);
          say(done);
        },
        (e: unknown) => {
          say("");
          setError((e instanceof DOMException && w.errors[e.name]) || sentence(e));
        },
      )
      .finally(() => setBusy(false));
  };
  useEffect(() => {
    if (!why || why === "denied") pushState().then(setPush, (e: unknown) => setError(e instanceof ApiError && e.status === 403 ? w.token : sentence(e)));
  }, []);
  const save = (change: Partial<PushSettings>) => push && work(savePushSettings({ ...push.settings, ...change }), w.saved);
  const off = () => work(unsubscribe().then(pushState), w.off);
  return (
    <div class="notify" data-ui="notify" aria-busy={busy}>
      {why ? <p class="notice">{w[why]}</p> : !push && !error && <p class="quiet">{w.asking}</p>}
      {error && (
        <p class="notice" role="alert">
          {error}
        </p>
      )}
      {!why && push && (
        <>
          <p>{push.subscribed ? w.on : w.off}</p>
          {!push.subscribed && <p class="quiet">{w.offWhy}</p>}
          <div class="act-row">
            {push.subscribed ? (
              <>
                <button type="button" class="small" disabled={busy} onClick={() => work(testPush(), w.tested)}>
                  {w.test}
                </button>
                <button type="button" class="small" disabled={busy} onClick={off}>
                  {w.turnOff}
                </button>
              </>
            ) : (
              <button type="button" class={`allow${busy ? " busy" : ""}`} data-action="ring" data-state={busy ? "busy" : undefined} disabled={busy} onClick={() => work(subscribe(), w.on, w.turning)}>
                {w.turnOn}
              </button>
            )}
          </div>
          {push.subscribed && (
            <p class="quiet">
              {push.service && w.by(visibleLine(push.service))} {push.lastSentAt && w.lastSent(agoWords(now.value - Date.parse(push.lastSentAt)))}{" "}
              {push.trouble && w.trouble(reason(push.trouble))}
            </p>
          )}
          {push.subscribed && <When settings={push.settings} save={save} />}
        </>
      )}
      <p role="status" class="quiet">
        {said}
      </p>
    </div>
  );
}

function When({ settings: s, save }: { settings: PushSettings; save(change: Partial<PushSettings>): void }) {
  const quiet = s.quiet?.[0];
  const choice = s.sessions ?? { mode: "all" };
  const ids: readonly string[] = choice.ids ?? [];
  const setQuiet = (from: string, to: string) => {
    if (from && to) save({ quiet: [{ from, to }], timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone });
  };
  const afters = Object.entries(w.afters);
  const after = String(s.afterSeconds ?? 5);
  const known = [...sessions.value.values()].filter((x) => x.state !== "exited" || ids.includes(x.sessionId)).slice(0, 30);
  const names = sessionNames(known);
  return (
    <>
      <label class="setting">
        <span>{w.after}</span>
        <select value={after} onChange={(e) => save({ afterSeconds: Number(e.currentTarget.value) })}>
          {!(after in w.afters) && <option value={after}>{words.time.seconds(Number(after))}</option>}
          {afters.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      </label>
      <Switch on={!!quiet} set={(on) => (on ? setQuiet("22:00", "07:00") : save({ quiet: [] }))} label={w.quiet} />
      {quiet && (
        <div class="act-row">
          <label>
            {w.from} <input type="time" required value={quiet.from} onChange={(e) => setQuiet(e.currentTarget.value, quiet.to)} />
          </label>
          <label>
            {w.to} <input type="time" required value={quiet.to} onChange={(e) => setQuiet(quiet.from, e.currentTarget.value)} />
          </label>
        </div>
      )}
      <label class="setting">
        <span>{w.sessions}</span>
        <select value={choice.mode} onChange={(e) => save({ sessions: { mode: e.currentTarget.value as "all", ...(e.currentTarget.value === "all" ? {} : { ids: [...ids] }) } })}>
          {Object.entries(w.modes).map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      </label>
      {choice.mode !== "all" &&
        known.map((x) => (
          <Switch
            key={x.sessionId}
            on={ids.includes(x.sessionId)}
            label={names.get(x.sessionId)!}
            {...(x.title && !names.get(x.sessionId)!.startsWith(x.title) ? { why: x.title } : {})}
            set={(on) => save({ sessions: { ...choice, ids: on ? [...ids, x.sessionId] : ids.filter((id) => id !== x.sessionId) } })}
          />
        ))}
      <Switch on={!!s.showSession} set={(showSession) => save({ showSession })} label={w.showSession} why={w.showSessionWhy} />
      <Switch on={!!s.showContent} set={(showContent) => save(showContent ? { showContent } : { showContent, showSentence: false })} label={w.showContent} why={w.showContentWhy} />
      {s.showContent && <Switch on={!!s.showSentence} set={(showSentence) => save({ showSentence })} label={w.showSentence} why={w.showSentenceWhy} />}
      <fieldset class="events">
        <legend>{w.events}</legend>
        <Switch on={!!s.stillWaits} set={(stillWaits) => save({ stillWaits })} label={w.stillWaits} />
        <Switch on={!!s.finished} set={(finished) => save({ finished })} label={w.finished} />
        <Switch on={!!s.failed} set={(failed) => save({ failed })} label={w.failed} />
      </fieldset>
    </>
  );
}
