// Which requests are alike, for the eye only: what is put together here is still read and decided
// one by one. The rules read commands properly; this looks at their beginning.
import { toolKind } from "../broker/tools";
import type { PermissionRequest, Shown } from "../broker/types.gen";
import { lastElement } from "./model";

export interface Shape {
  key: string;
  /** What a group is called: a program and its subcommand, a directory, a host. Foreign text. */
  name: string;
}

const subcommands: ReadonlySet<string> = new Set(
  "apt apt-get aws az brew bun bundle cargo composer conda deno docker dotnet gcloud gh git go gradle helm just kubectl make mix mvn npm npx nx pip pip3 pnpm podman poetry rake rustup systemctl terraform tofu uv yarn".split(" "),
);
const before: ReadonlySet<string> = new Set(["sudo", "env", "time", "nohup", "command", "exec"]);

export function shapeOf(r: PermissionRequest, shown: Shown | undefined): Shape {
  const tool = r.toolName ?? "";
  const text = (name: string) => shown?.fields.find((f) => f.name === name)?.text ?? "";
  let name = "";
  if (toolKind(tool) === "command") name = commandShape(text("command"));
  else if (toolKind(tool) === "fetch") name = hostOf(text("url"));
  else name = pathShape(text("file_path") || text("notebook_path"), r.repo?.root ?? r.cwd ?? "");
  return { key: `${tool}\n${name}`, name };
}

/** "git push", "go test", "rm"; with … where there is more than one command. */
export function commandShape(command: string): string {
  const line = command.trim();
  const tokens = line.split(/\s+/, 12);
  let i = 0;
  while (i < tokens.length && (/^\w+=/.test(tokens[i]!) || before.has(tokens[i]!))) i++;
  const program = lastElement(tokens[i]?.replace(/^["']|["';]+$/g, ""));
  const sub = subcommands.has(program) ? tokens.slice(i + 1).find((t) => !t.startsWith("-")) : undefined;
  const more = /[\n;|&`<>]|\$\(/.test(line) ? " …" : "";
  return program ? `${program}${sub && /^[a-z][\w:-]{0,30}$/.test(sub) ? ` ${sub}` : ""}${more}` : "";
}

/** The directory below the repository, to a depth of two. */
export function pathShape(path: string, root: string): string {
  if (!path) return "";
  const inside = root !== "" && path.startsWith(root.endsWith("/") ? root : `${root}/`);
  const parts = (inside ? path.slice(root.length) : path).split("/").filter((p) => p !== "");
  const directory = parts.slice(0, -1).slice(0, 2).join("/");
  return inside ? `${directory || "."}/` : `/${directory}`;
}

function hostOf(url: string): string {
  return /^https?:\/\/([^/?#\s]+)/i.exec(url)?.[1]?.replace(/^.*@/, "").toLowerCase() ?? "";
}
