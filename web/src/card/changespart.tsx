// An edit, or a file that is written anew, as the part of a request: the changes among the lines of the
// file, or why they cannot be shown.
import { useMemo, useState } from "preact/hooks";
import type { PermissionRequest } from "../broker/types.gen";
import { words } from "../text/words";
import { Changes } from "./changes";
import { longDiff, made } from "./edits";
import { headAndTail, isLong } from "./exact";
import { More, type Its } from "./fields";
import type { ChangePart } from "./parts";

export function ChangesPart({ request, part, whole, open }: Its & { part: ChangePart }) {
  const [all, setAll] = useState(false);
  const { prefix, before, made: difference } = useMemo(() => made(part), [part]);
  const lines = difference!.lines;
  const number = /^edits\[(\d+)\]\.$/.exec(prefix);
  const longLine = lines.some((l) => isLong(l.text));
  const left = lines.reduce((n, l) => n + (l.left ?? 0), 0);
  return (
    <div class="field">
      {number && <span class="label">{words.diff.place(Number(number[1]) + 1)}</span>}
      {part.name === "content" && before?.text === undefined && <Replaces request={request} before={before} />}
      {lines.length === 0 && <span class="nothing">{words.fields.empty}</span>}
      {whole ? (
        lines.length > 0 && <Changes lines={all ? difference!.all : lines} />
      ) : (
        <>
          <Changes lines={longLine ? lines.slice(0, 14).map(clipped) : lines.slice(0, longDiff - 16)} />
          <More hidden={words.fields.hidden(longLine ? words.diff.longLines : words.fields.lines(Math.max(1, lines.length - longDiff + 8)), lines.length)} open={open} />
          <Changes lines={longLine ? [] : lines.slice(-8)} />
        </>
      )}
      {part.is && !part.was && !part.is.endsWith("\n") && <span class="label" data-ui="notice">{words.diff.noEnd}</span>}
      {whole && left > 0 && !all && <More hidden={words.diff.showSame(left)} open={() => setAll(true)} />}
    </div>
  );
}

/** What is said of a whole file where what was in it is not shown. */
function Replaces({ request: { overwrites }, before }: { request: PermissionRequest; before: ChangePart["before"] }) {
  if (overwrites?.exists === false) return <span class="label" data-ui="notice">{words.diff.newFile}</span>;
  return (
    <>
      <p class="notice" data-ui="notice">
        {overwrites ? words.diff.replaces(overwrites) : words.diff.unseenFile} {overwrites && words.diff.noDifference[before?.why ?? ""]}
      </p>
      <span class="label">{words.diff.wholeFile}</span>
    </>
  );
}

/** Of a line that is long by itself the beginning; the button below says that there is more. */
function clipped<L extends { text: string }>(l: L): L {
  return isLong(l.text) ? { ...l, text: headAndTail(l.text).head + " …" } : l;
}
