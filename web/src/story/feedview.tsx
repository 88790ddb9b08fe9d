// The column that tells what happened: the transcript of the selected session, and the search over
// all of them. The transcript comes when it is first wanted.
import { useRef, useState } from "preact/hooks";
import type { Found } from "../broker/types.gen";
import { Later } from "../panels/later";
import { selected } from "../queue/state";
import { words } from "../text/words/all";
import { find, found, searchTrouble } from "./feed";
import { foundLine, signed, type Line } from "./story";

export function Story() {
  return <Later part="Transcript" with={undefined} />;
}

export function Search() {
  const [looked, setLooked] = useState("");
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const type = (text: string) => {
    setLooked(text);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => void find(text), 250);
  };
  const hits = found.value;
  return (
    <search class="search">
      <input type="search" aria-label={words.feed.search} placeholder={words.feed.search} maxLength={200} value={looked} onInput={(e) => type(e.currentTarget.value)} />
      {searchTrouble.value && <p class="quiet">{searchTrouble.value}</p>}
      {hits && hits.length === 0 && <p class="quiet">{words.feed.notFound}</p>}
      {hits && hits.length > 0 && (
        <ul aria-label={words.feed.found}>
          {hits.map((f) => (
            <Hit
              key={f.id}
              found={f}
              line={foundLine(f.event as Line, looked)}
              open={() => {
                selected.value = f.event.session_id;
                type("");
              }}
            />
          ))}
        </ul>
      )}
    </search>
  );
}

function Hit({ found: f, line, open }: { found: Found; line: string; open: () => void }) {
  const at = new Date(f.event.ts);
  return (
    <li>
      <button type="button" class="hit" data-action="hit" onClick={open}>
        <small>
          {f.sessionTitle ?? words.feed.session} · {isNaN(at.getTime()) ? "" : at.toLocaleString()}
        </small>
        <span>{signed(f.event.title)}</span>
        {line && <small class="line">{line}</small>}
      </button>
    </li>
  );
}
