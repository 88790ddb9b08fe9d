// Bundles src into dist. Deterministic: same sources and lock file, same bytes.
import { createHash } from "node:crypto";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const web = join(dirname(fileURLToPath(import.meta.url)), "..");
const dist = join(web, "dist");

await rm(dist, { recursive: true, force: true });
await mkdir(dist);
const script = {
  absWorkingDir: web,
  outdir: "dist",
  bundle: true,
  minify: true,
  target: ["es2022", "chrome111", "firefox113", "safari16.4"],
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  charset: "utf8",
  logLevel: "warning",
};
// What is not needed at first (panels, charts, the reader of plans) is fetched when it is wanted.
const { metafile } = await build({ ...script, entryPoints: { app: "src/main.tsx" }, format: "esm", splitting: true, metafile: true });
await build({ ...script, entryPoints: { offline: "src/offline.ts" }, format: "esm" });
await build({ ...script, entryPoints: { plan: "src/card/markdown.ts" }, format: "esm" });
await build({
  absWorkingDir: web,
  entryPoints: { app: "src/page.css", later: "src/panels/later.css" },
  outdir: "dist",
  bundle: true,
  minify: true,
  target: ["chrome111", "firefox113", "safari16.4"],
  logLevel: "warning",
});
for (const file of ["offline.html", "app.webmanifest", "icon.svg", "icon-180.png", "icon-192.png", "icon-512.png", "icon-maskable-512.png"]) {
  await cp(join(web, "src/static", file), join(dist, file));
}
// What app.js imports at once is asked for at once.
const first = metafile.outputs["dist/app.js"].imports.filter((i) => i.kind === "import-statement").map((i) => `<link rel="modulepreload" href="/${i.path.replace("dist/", "")}">\n`);
const page = await readFile(join(web, "src/static/index.html"), "utf8");
await writeFile(join(dist, "index.html"), page.replace('<script type="module"', first.join("") + '<script type="module"'));
// The service worker keeps the page that is shown without a broker: other files, another worker.
const shell = createHash("sha256");
for (const file of ["offline.html", "offline.js", "app.css", "icon.svg"]) shell.update(await readFile(join(dist, file)));
await build({ ...script, entryPoints: { sw: "src/sw.ts" }, format: "iife", define: { SHELL: JSON.stringify(shell.digest("hex").slice(0, 12)) } });
