// Changing the input before it is allowed: every member in a box of its own, and below it what
// differs from what the agent asked for.
import { writable } from "../broker/json";
import { toolKind } from "../broker/tools";
import type { Request } from "../queue/model";
import { visibleLine, visibleText } from "../text/visible";
import { words } from "../text/words";
import { Changed } from "./changed";
import { label } from "./fields";
import { fit } from "./fit";
import type { Field } from "./parts";

export interface Member {
  key: string;
  value: unknown;
  /** As it stands in its box: a string itself, of anything else its JSON. */
  text: string;
}

/** What was typed, by key; a member that nobody touched is not there. */
export type Edits = ReadonlyMap<string, string>;

/** The members that may be edited, or undefined where this page could not write the rest of the
 * input back as it came. */
export function membersOf(r: Request, fields: readonly Field[]): Member[] | undefined {
  if (r.uninspectable || !r.toolInput || fields.some((f) => f.kind === "json" && !writable(f.text))) return undefined;
  const all = Object.entries(r.toolInput).map(([key, value]) => ({ key, value, text: typeof value === "string" ? value : JSON.stringify(value, null, 2) }));
  return toolKind(r.toolName) === "plan" ? all.filter((m) => m.key === "plan" && typeof m.value === "string") : all;
}

/** The whole new input, why it is none, or undefined while nothing is changed. */
export function editedInput(r: Request, members: readonly Member[], edits: Edits): { input: Record<string, unknown> } | { wrong: string } | undefined {
  const changes: [string, unknown][] = [];
  for (const m of members) {
    const typed = edits.get(m.key);
    if (typed === undefined || typed === m.text) continue;
    if (typeof m.value === "string") changes.push([m.key, typed]);
    else if (!writable(typed)) return { wrong: words.edit.noJSON(visibleLine(m.key)) };
    else changes.push([m.key, JSON.parse(typed)]);
  }
  if (changes.length === 0) return undefined;
  const changed = new Map(changes);
  return { input: Object.fromEntries(Object.entries(r.toolInput ?? {}).map(([k, v]) => [k, changed.has(k) ? changed.get(k) : v])) };
}

interface Props {
  members: readonly Member[];
  edits: Edits;
  disabled: boolean;
  type(key: string, text: string): void;
}

export function EditForm({ members, edits, disabled, type }: Props) {
  return (
    <div class="edit" data-ui="edit">
      {members.map((m) => {
        const typed = edits.get(m.key) ?? m.text;
        const before = visibleText(m.text);
        const changed = typed !== m.text;
        return (
          <div class="member" key={m.key}>
            <label>
              <span class="label">{label(visibleLine(m.key))}</span>
              <textarea
                ref={fit}
                value={typed}
                disabled={disabled}
                spellcheck={false}
                autocapitalize="off"
                autocomplete="off"
                onInput={(e) => {
                  fit(e.currentTarget);
                  type(m.key, e.currentTarget.value);
                }}
              />
            </label>
            {before !== m.text && <p class="remark">{words.edit.unseen}</p>}
            {changed && <Changed before={before} after={visibleText(typed)} />}
          </div>
        );
      })}
    </div>
  );
}

