// Writes ../e2e/rig/words.json from src/text/words: what the page says, by name, for the tests that
// look at it. A function's words are those it makes of the texts {0}, {1} and so on; one that wants
// anything but texts is left out. Deterministic: same words, same file.
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const web = join(dirname(fileURLToPath(import.meta.url)), "..");
const bundle = await build({ absWorkingDir: web, entryPoints: ["src/text/words/all.ts"], bundle: true, format: "esm", write: false, logLevel: "warning" });
const { words } = await import(`data:text/javascript;base64,${Buffer.from(bundle.outputFiles[0].contents).toString("base64")}`);

const flat = {};
function walk(value, name) {
  if (typeof value === "string") {
    flat[name] = value;
  } else if (typeof value === "function") {
    const gaps = Array.from({ length: value.length }, (_, i) => `{${i}}`);
    let text;
    try {
      text = value(...gaps);
    } catch {
      return; // it wants something else
    }
    if (typeof text === "string" && gaps.every((gap) => text.includes(gap))) flat[name] = text;
  } else if (value !== null && typeof value === "object") {
    for (const [key, inner] of Object.entries(value)) walk(inner, name ? `${name}.${key}` : key);
  }
}
walk(words, "");
await writeFile(join(web, "../e2e/rig/words.json"), JSON.stringify(flat, null, 2) + "\n");
