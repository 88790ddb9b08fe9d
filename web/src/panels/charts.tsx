// Decisions over time. The charts themselves are another script, fetched when somebody looks.
import { useEffect, useRef, useState } from "preact/hooks";
import { getStats } from "../broker/api";
import { now } from "../broker/clock";
import { sentence } from "../broker/http";
import type { Stats } from "../broker/types.gen";
import { Paths } from "../text/rich";
import { visibleLine } from "../text/visible";
import { words } from "../text/words/all";
import type { Chart } from "./plot";

const w = words.charts;

const ranges = { day: { step: "hour", days: 1 }, week: { step: "day", days: 6 }, month: { step: "day", days: 29 }, quarter: { step: "day", days: 89 } } as const;
type Range = keyof typeof ranges;

type Series = keyof typeof w.series;
const decided: readonly Series[] = ["allowedByPerson", "allowedByRule", "deniedByPerson", "deniedByRule"];
const open: readonly Series[] = ["expired", "withdrawn", "handedBack"];
const times: readonly Series[] = ["medianMs", "p90Ms"];

/** What is not decided has colours of its own: green and red mean yes and no. */
const colors: Readonly<Record<Series, number>> = { allowedByPerson: 1, allowedByRule: 2, deniedByPerson: 3, deniedByRule: 4, expired: 5, withdrawn: 6, handedBack: 7, medianMs: 1, p90Ms: 2 };

export function Charts() {
  const [range, setRange] = useState<Range>("week");
  const [stats, setStats] = useState<Stats>();
  const [error, setError] = useState("");
  const asked = useRef(0);
  const load = () => {
    const mine = ++asked.current;
    const { step, days } = ranges[range];
    setError("");
    getStats(step, new Date(now.peek() - days * 86_400_000), Intl.DateTimeFormat().resolvedOptions().timeZone).then(
      (s) => mine === asked.current && setStats(s),
      (e: unknown) => mine === asked.current && setError(sentence(e)),
    );
  };
  useEffect(load, [range]);
  return (
    <section class="panel charts" data-ui="charts" aria-labelledby="charts">
      <div class="panel-head">
        <h2 id="charts">{w.head}</h2>
        <select aria-label={w.range} value={range} onChange={(e) => setRange(e.currentTarget.value as Range)}>
          {Object.entries(w.ranges).map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      </div>
      {error && (
        <p class="notice" role="alert">
          {error}{" "}
          <button type="button" class="link" onClick={load}>
            {words.tryAgain}
          </button>
        </p>
      )}
      {!stats && !error && <p class="quiet">{words.history.fetching}</p>}
      {stats && <Pictures stats={stats} />}
    </section>
  );
}

function sum(stats: Stats, names: readonly Series[]): number {
  return stats.buckets.reduce((n, b) => n + names.reduce((m, name) => m + b[name], 0), 0);
}

function Pictures({ stats }: { stats: Stats }) {
  const all = sum(stats, decided);
  if (all + sum(stats, open) === 0) return <p class="quiet">{w.nothing}</p>;
  const rules = sum(stats, ["allowedByRule", "deniedByRule"]);
  return (
    <>
      <p>{w.sums(all, rules, sum(stats, ["expired"]))}</p>
      {all > 0 && <Picture title={w.decided} stats={stats} names={decided} kind="bars" />}
      {sum(stats, times) > 0 && <Picture title={w.time} stats={stats} names={times} kind="lines" />}
      {sum(stats, open) > 0 && <Picture title={w.open} stats={stats} names={open} kind="bars" />}
      <Deciders stats={stats} />
      <details>
        <summary>{w.table}</summary>
        <div class="wide" data-ui="table" tabIndex={0} role="region" aria-label={w.table}>
          <table>
            <thead>
              <tr>
                <th scope="col">{w.at}</th>
                {[...decided, ...open, ...times].map((n) => (
                  <th scope="col" key={n}>
                    {w.series[n]}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {stats.buckets
                .filter((b) => [...decided, ...open].some((n) => b[n] > 0))
                .map((b) => (
                  <tr key={b.start}>
                    <th scope="row">{when(b.start, stats.step)}</th>
                    {[...decided, ...open].map((n) => (
                      <td key={n}>{b[n]}</td>
                    ))}
                    {times.map((n) => (
                      <td key={n}>{b[n] ? w.seconds(b[n] / 1000) : "–"}</td>
                    ))}
                  </tr>
                ))}
            </tbody>
          </table>
        </div>
      </details>
    </>
  );
}

function Deciders({ stats }: { stats: Stats }) {
  if (stats.by.length === 0) return null;
  return (
    <>
      <h3>{w.most}</h3>
      <div class="wide" data-ui="table" tabIndex={0} role="region" aria-label={w.most}>
        <table>
          <thead>
            <tr>
              <th scope="col">{w.who}</th>
              <th scope="col">{w.allowed}</th>
              <th scope="col">{w.denied}</th>
              <th scope="col">{w.median}</th>
            </tr>
          </thead>
          <tbody>
            {stats.by.map((d) => (
              <tr key={`${d.kind}\n${d.name}`}>
                <th scope="row"><Paths text={d.kind === "owner-cli" ? words.outcome.ownerCli : visibleLine(d.name)} /></th>
                <td>{d.allowed}</td>
                <td>{d.denied}</td>
                <td>{d.kind === "rule" ? "–" : w.seconds(d.medianMs / 1000)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function when(at: string, step: string): string {
  const t = new Date(at);
  return step === "hour" ? t.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" }) : t.toLocaleDateString(undefined, { day: "numeric", month: "short" });
}

interface PictureProps {
  title: string;
  stats: Stats;
  names: readonly Series[];
  kind: "bars" | "lines";
}

function Picture({ title, stats, names, kind }: PictureProps) {
  const box = useRef<HTMLDivElement>(null);
  const [failed, fail] = useState(false);
  useEffect(() => {
    let chart: Chart | undefined;
    let gone = false;
    import("./plot").then(
      (m) => {
        if (gone || !box.current) return;
        chart = m.draw(box.current, {
          kind,
          at: stats.buckets.map((b) => Date.parse(b.start) / 1000),
          series: names.map((n) => ({ label: w.series[n], color: colors[n], values: stats.buckets.map((b) => (kind === "lines" ? b[n] / 1000 || null : b[n])) })),
          when: (s) => when(new Date(s * 1000).toISOString(), stats.step),
          atLabel: w.at,
          value: (v) => (v === null ? "–" : kind === "lines" ? w.seconds(v) : String(v)),
        });
      },
      () => fail(true),
    );
    return () => {
      gone = true;
      chart?.destroy();
    };
  }, [stats, kind]);
  return (
    <figure>
      <figcaption>{title}</figcaption>
      {failed && <p class="quiet">{w.failed}</p>}
      <div class="plot" data-ui="plot" ref={box} role="img" aria-label={`${title}. ${w.table}: ${names.map((n) => w.series[n]).join(", ")}`} />
    </figure>
  );
}
