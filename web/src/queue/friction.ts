// How hard it is to allow a request, and how much of it has to have been seen, by its risk. Both
// are plain functions. docs/app.md says the same to people.
import { needsAnswer } from "../broker/tools";
import type { PermissionRequest } from "../broker/types.gen";
import type { Field } from "../card/parts";
import { verificationNow } from "../device/session";
import type { Answer } from "./model";

/** What Allow wants: a tap, or to be held (pressed twice, with a keyboard). */
export type Press = "tap" | "hold";

/** Whether it is answered by itself, and what the agent says of it is folded. */
export function dangerous(r: PermissionRequest): boolean {
  return pressOf(r) === "hold";
}

/** Whether the owner of a device that verifies them has to confirm an answer. The broker has the last word. */
export function wantsVerification(r: PermissionRequest, { behavior, updatedPermissions }: Answer): boolean {
  const { credential, require } = verificationNow();
  return behavior === "allow" && !!credential && (require === "always" || dangerous(r) || !!updatedPermissions?.length);
}

/** A risk that this page does not know is as high as danger; none at all is attention. */
export function pressOf({ risk }: PermissionRequest): Press {
  return risk === undefined || risk === "calm" || risk === "normal" || risk === "attention" ? "tap" : "hold";
}

/** What no eye would find in a text that is not read whole: what the broker had to make visible,
 * and blanks that push the rest out of sight. */
const hides = /⟦|\S {24}|\n{5}/;

/** Whether all of it has to have been on the screen before it is allowed. It need not where it
 * only reads or writes inside the project, and nothing in it hides. */
export function readWhole(r: PermissionRequest, fields: readonly Field[]): boolean {
  const harmless = (r.risk === "calm" || r.risk === "normal") && !r.marks?.length && !r.effects?.some((e) => e.outside);
  return !harmless || !!r.uninspectable || !!r.event || needsAnswer(r.toolName ?? "") || fields.some((f) => hides.test(f.text));
}
