// What a session of a host has changed where it works, as git on its host says. It is read when somebody
// wants to see it, and again when asked to.
import { useState } from "preact/hooks";
import { reason } from "../broker/http";
import type { AgentDiff } from "../broker/types.gen";
import { Changes } from "../card/changes";
import type { Line } from "../card/diff";
import { authorized } from "../device/session";
import { visibleLine } from "../text/visible";
import { laterWords } from "../text/words/later";
import { readDiff } from "./gitdiff";

const w = laterWords.worktree;
const folded = 120; // lines of a file that are drawn at first

interface Read {
  diff?: AgentDiff;
  lines?: Map<string, Line[]>;
  trouble?: string;
}

export function WorkTree({ agent, session }: { agent: string; session: string }) {
  const [read, setRead] = useState<Read | undefined>();
  const [busy, setBusy] = useState(false);
  const look = async () => {
    if (busy) return;
    setBusy(true);
    try {
      const diff = await authorized<AgentDiff>("GET", `/v1/agents/${encodeURIComponent(agent)}/sessions/${encodeURIComponent(session)}/diff`);
      setRead({ diff, lines: readDiff(diff.diff) });
    } catch (e) {
      setRead({ trouble: w.failed(reason(e)) });
    }
    setBusy(false);
  };
  return (
    <details class="changed worktree" data-ui="worktree" onToggle={(e) => e.target === e.currentTarget && e.currentTarget.open && !read && void look()}>
      <summary>{read?.diff ? w.files(read.diff.files.length) : w.head}</summary>
      {!read && <p class="quiet">{w.reading}</p>}
      {read?.trouble && (
        <p class="notice" role="alert">
          {read.trouble}
        </p>
      )}
      {read?.diff && <Files diff={read.diff} lines={read.lines ?? new Map()} />}
      {read && (
        <button type="button" class="link" data-action="read-again" disabled={busy} onClick={() => void look()}>
          {busy ? w.reading : w.again}
        </button>
      )}
    </details>
  );
}

function Files({ diff: d, lines }: { diff: AgentDiff; lines: Map<string, Line[]> }) {
  return (
    <>
      <p class="quiet">
        {[d.branch && w.branch(visibleLine(d.branch)), d.commits > 0 && w.commits(d.commits), visibleLine(d.directory)].filter(Boolean).join(" · ")}
      </p>
      {d.files.length === 0 && <p class="quiet">{w.nothing}</p>}
      {d.files.map((f) => (
        <File key={f.path} file={f} lines={lines.get(visibleLine(f.path))} />
      ))}
      {d.truncated && <p class="quiet">{w.truncated}</p>}
    </>
  );
}

function File({ file: f, lines }: { file: AgentDiff["files"][number]; lines: Line[] | undefined }) {
  const [open, setOpen] = useState(false);
  const [all, setAll] = useState(false);
  const shown = lines && !all ? lines.slice(0, folded) : lines;
  return (
    <details class="file" data-ui="worktree-file" onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>
        <code>{visibleLine(f.path)}</code>{" "}
        <span class="counts">
          {f.status !== "modified" && <span>{w.states[f.status]} </span>}
          <span class="plus">+{f.added ?? 0}</span> <span class="minus">−{f.removed ?? 0}</span>
        </span>
      </summary>
      {open && !shown?.length && <p class="quiet">{f.binary ? w.binary : w.noLines}</p>}
      {open && shown && shown.length > 0 && <Changes lines={shown} />}
      {open && lines && shown && shown.length < lines.length && (
        <button type="button" class="link" data-action="show-all" onClick={() => setAll(true)}>
          {w.showAll(lines.length - shown.length)}
        </button>
      )}
    </details>
  );
}
