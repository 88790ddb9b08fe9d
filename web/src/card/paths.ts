// A path as a person thinks of it: from the project's root, where it lies below that.
import type { PermissionRequest } from "../broker/types.gen";
import { visibleLine } from "../text/visible";

/** The path from the project's root, if the agent works there. One that leaves the project on its way,
 * or is written in any other than the plain way, stays as it is; one that was relative, which is to
 * where the agent works, stands behind ./ so that it is not taken for one from the root. */
export function relative(path: string, r: PermissionRequest): string {
  const root = visibleLine(r.repo?.root || r.projectDir || "").replace(/\/+$/, "");
  const inside = (p: string) => root !== "" && p.startsWith(`${root}/`);
  const plain = path.slice(root.length + 1).split("/").every((e) => e !== "" && e !== "." && e !== "..");
  if (inside(path) && plain && inside(`${visibleLine(r.cwd ?? "")}/`)) return path.slice(root.length + 1);
  return /^([/.~]|$)/.test(path) ? path : `./${path}`;
}
