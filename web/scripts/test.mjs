// Bundles the tests of src into a temporary directory and imports them under node:test.
import { rmSync } from "node:fs";
import { mkdtemp, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

const web = join(dirname(fileURLToPath(import.meta.url)), "..");
const out = await mkdtemp(join(tmpdir(), "assent-web-test-"));
process.on("exit", () => rmSync(out, { recursive: true, force: true })); // a hook of node:test may come before the last import

const names = (await readdir(join(web, "src"), { recursive: true })).filter((n) => n.endsWith(".test.ts")).sort();
await build({
  absWorkingDir: web,
  entryPoints: names.map((n) => "src/" + n),
  outdir: out,
  outbase: "src",
  outExtension: { ".js": ".mjs" },
  bundle: true,
  platform: "node",
  format: "esm",
  define: {
    TESTDATA: JSON.stringify(join(web, "../internal/text/show/testdata")),
    EVENTS: JSON.stringify(join(web, "../internal/feed/testdata/events")),
    TRANSCRIPTS: JSON.stringify(join(web, "src/story/testdata")),
  },
});
for (const n of names) await import(pathToFileURL(join(out, n.replace(/\.ts$/, ".mjs"))));
