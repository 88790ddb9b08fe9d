// What the rules read in a request, for who wants to know why no rule answered. It is no help with the
// decision itself, and is folded below what is; read.tsx shows it.
import { useState } from "preact/hooks";
import { needsAnswer } from "../broker/tools";
import type { PermissionRequest, Unit } from "../broker/types.gen";
import { words } from "../text/words";
import { useMore } from "./more";

export function Reading({ request: r }: { request: PermissionRequest }) {
  const [open, setOpen] = useState(false);
  const { script } = useMore(open);
  const units = unitsOf(r);
  const count = units.length + (r.moreUnits ?? 0);
  const v = r.verdict?.action === "ask" && !needsAnswer(r.toolName ?? "") ? r.verdict : undefined;
  if (count < 2 && !r.doubts?.length && !(v && ((!v.rule && v.reason) || v.shadow?.length)) && !units.some(remarkable)) return null;
  return (
    <details class="raw" data-ui="reading" onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>{count > 1 ? words.shell.readAs(count) : words.shell.checked}</summary>
      {script ? <script.Read request={r} /> : <p class="quiet">{words.oneMoment}</p>}
    </details>
  );
}

/** What a program may run besides counts only where it makes the rules doubt. */
export function unitsOf(r: PermissionRequest): Unit[] {
  return (r.units ?? []).filter((u) => !u.guessed || r.doubts?.length);
}

function remarkable(u: Unit): boolean {
  return u.kind !== "command" || !!u.via?.length || !!u.inner || !!u.guessed || !!u.dir || !u.program;
}
