// Bundles src into dist. Deterministic: same sources and lock file, same bytes.
import { cp, mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const web = join(dirname(fileURLToPath(import.meta.url)), "..");
const dist = join(web, "dist");

await rm(dist, { recursive: true, force: true });
await mkdir(dist);
await build({
  absWorkingDir: web,
  entryPoints: { app: "src/main.tsx" },
  outdir: "dist",
  bundle: true,
  minify: true,
  format: "iife",
  target: ["es2022", "chrome111", "firefox113", "safari16.4"],
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  charset: "utf8",
  logLevel: "warning",
});
// Fetched when the first plan is shown.
await build({
  absWorkingDir: web,
  entryPoints: { plan: "src/markdown.ts" },
  outdir: "dist",
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022", "chrome111", "firefox113", "safari16.4"],
  legalComments: "none",
  charset: "utf8",
  logLevel: "warning",
});
await build({
  absWorkingDir: web,
  entryPoints: { app: "src/style.css" },
  outdir: "dist",
  bundle: true,
  minify: true,
  target: ["chrome111", "firefox113", "safari16.4"],
  logLevel: "warning",
});
for (const file of ["index.html", "icon.svg"]) await cp(join(web, "src", file), join(dist, file));
