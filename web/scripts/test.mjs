// Bundles the tests of src into a temporary directory and imports them under node:test.
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { after } from "node:test";
import { build } from "esbuild";

const web = join(dirname(fileURLToPath(import.meta.url)), "..");
const out = await mkdtemp(join(tmpdir(), "assent-web-test-"));
after(() => rm(out, { recursive: true, force: true }));

const names = (await readdir(join(web, "src"))).filter((n) => n.endsWith(".test.ts"));
await build({
  absWorkingDir: web,
  entryPoints: names.map((n) => "src/" + n),
  outdir: out,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  platform: "node",
  format: "esm",
  define: { TESTDATA: JSON.stringify(join(web, "../internal/show/testdata")) },
});
for (const n of names) await import(pathToFileURL(join(out, n.replace(/\.ts$/, ".mjs"))));
