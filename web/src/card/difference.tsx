// How what was allowed differs from what was asked for, from the lines in which the broker says it:
// the name of a member, then lines that begin with "- ", "+ " or two spaces. They are safe to show.
import { Changes } from "./changes";
import { diffOf } from "./diff";

export interface Changed {
  /** The line above the change: the name of a member, or what has no sign. */
  name: string;
  before: string[];
  after: string[];
}

export function changedIn(text: string): Changed[] {
  const all: Changed[] = [];
  for (const line of text.split("\n")) {
    const sign = line.slice(0, 2);
    const last = all[all.length - 1];
    if (!last || (sign !== "- " && sign !== "+ " && sign !== "  ")) {
      all.push({ name: line, before: [], after: [] });
      continue;
    }
    if (sign !== "+ ") last.before.push(line.slice(2));
    if (sign !== "- ") last.after.push(line.slice(2));
  }
  return all;
}

const obvious = "command (changed)"; // the only thing that can be changed about most commands

export function Difference({ text }: { text: string }) {
  return (
    <div class="difference" data-ui="difference">
      {changedIn(text).map((c, i) => (
        <div key={i}>
          {c.name !== obvious && <span class="label">{c.name}</span>}
          {c.before.length + c.after.length > 0 && <Changes diff={diffOf(c.before.join("\n"), c.after.join("\n"))} />}
        </div>
      ))}
    </div>
  );
}
