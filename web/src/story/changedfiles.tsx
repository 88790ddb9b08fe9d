// The files that a session has changed, with what changed in them.
import { useMemo, useState } from "preact/hooks";
import { Changes } from "../card/changes";
import { near } from "../card/diff";
import { relative } from "../card/paths";
import { sessions, selected } from "../queue/state";
import { words } from "../text/words/all";
import { changedFiles, counted, diffsOf, type ChangedFile } from "./edits";
import { placeOf } from "./story";
import type { Call } from "./transcript";

interface Props {
  calls: readonly Call[];
  /** Nothing of the session is missing above. */
  all: boolean;
  jump(click: Event, pos: number): void;
}

export function ChangedFiles({ calls, all, jump }: Props) {
  const files = useMemo(() => changedFiles(calls), [calls]);
  const [open, setOpen] = useState(false);
  if (files.length === 0) return null;
  const session = placeOf(sessions.value.get(selected.value));
  return (
    <details class="changed" data-ui="changed" onToggle={(e) => e.target === e.currentTarget && setOpen(e.currentTarget.open)}>
      <summary>{words.feed.changed(files.length)}</summary>
      {!all && <p class="quiet">{words.feed.changedPart}</p>}
      {open && files.map((f) => <File key={f.path} file={f} path={relative(f.path, session)} jump={jump} />)}
    </details>
  );
}

function File({ file, path, jump }: { file: ChangedFile; path: string; jump: Props["jump"] }) {
  const [open, setOpen] = useState(false);
  const edits = useMemo(() => file.edits.map((e) => ({ ...e, diffs: diffsOf(e.change) })), [file.edits.length, file.edits[file.edits.length - 1]?.id]);
  const { plus, minus } = counted(edits.flatMap((e) => e.diffs));
  return (
    <details class="file" data-ui="changed-file" onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>
        <code>{path}</code>{" "}
        <span class="counts">
          <span class="plus">+{plus}</span> <span class="minus">−{minus}</span>
        </span>
      </summary>
      {open &&
        edits.map((e) => (
          <div key={e.id}>
            {e.change.blind && <p class="quiet">{words.feed.blind}</p>}
            {e.diffs.map((d, i) => (
              <Changes key={i} diff={d} lines={near(d)} />
            ))}
            <a href={`#e${e.pos}`} class="link" onClick={(click) => jump(click, e.pos)}>
              {words.feed.toCall}
            </a>
          </div>
        ))}
    </details>
  );
}
