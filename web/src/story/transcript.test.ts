import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { changedFiles, counted, diffsOf } from "./edits";
import type { Line } from "./story";
import { transcript, type Call, type Row } from "./transcript";

declare const EVENTS: string;
declare const TRANSCRIPTS: string;

/** A transcript as text, a line for each row. */
function plain(rows: readonly Row[]): string {
  return rows
    .map((r) => {
      const sub = "sub" in r && r.sub ? "  " : "";
      switch (r.kind) {
        case "call": {
          const parts = [r.answer, r.why, r.answers.map((a) => `${a.question} -> ${a.answer}`).join("; "), r.difference && "edited", r.odd.join(" ")].filter(Boolean);
          return `${sub}[${r.mark}] ${r.tool} ${r.what}${parts.length > 0 ? ` (${parts.join("; ")})` : ""}`;
        }
        case "plain":
          return `${sub}${r.e.title}`;
        case "prompt":
          return `> ${r.from && `${r.from}: `}${r.text}`;
        case "words":
          return `${sub}" ${r.text}`;
        default:
          return `-- ${r.text}`;
      }
    })
    .join("\n")
    .concat("\n");
}

const eventsOf = (name: string) =>
  readFileSync(join(EVENTS, `${name}.jsonl`), "utf8")
    .split("\n")
    .filter(Boolean)
    .map((l) => JSON.parse(l) as Line);

// What a real client did, as people read it. UPDATE=1 writes the files; read them then.
for (const file of readdirSync(EVENTS)) {
  const name = file.replace(/\.jsonl$/, "");
  test(`the transcript of ${name}`, () => {
    const got = plain(transcript(eventsOf(name)));
    const golden = join(TRANSCRIPTS, `${name}.txt`);
    if (process.env["UPDATE"]) writeFileSync(golden, got);
    else assert.equal(got, readFileSync(golden, "utf8"));
  });
}

let pos = 0;
const event = (kind: string, data: object, more: object = {}) =>
  ({ pos: ++pos, seq: pos, ts: pos * 1000, event_id: `E${pos}`, run_id: "R1", session_id: "s", kind, level: "info", actor_id: "agent:root", title: "● Bash(make)", data, ...more }) as unknown as Line;
const after = (e: Line) => ({ cause: { parent_event_id: e.event_id } });
const input = { command: "make" };
const bash = { tool_name: "Bash", tool_input: input };
const marks = (lines: Line[]) => transcript(lines).map((r) => (r.kind === "call" ? r.mark : r.kind));

test("the mark of a call moves", () => {
  const pre = event("tool.pre", bash);
  const asked = event("permission.request", bash, { title: "⚠ Permission: Bash(make)", ...after(pre) });
  const decided = event("permission.decision", { decision_type: "allow", by: { kind: "device", name: "iPhone" } }, after(asked));
  const post = event("tool.post", { ...bash, tool_response: {} }, after(pre));
  const lines = [pre, asked, decided, post];
  assert.deepEqual(
    lines.map((_, i) => marks(lines.slice(0, i + 1)).join()),
    ["running", "waiting", "allowed", "ran"],
  );
  const call = transcript(lines)[0] as Call;
  assert.equal(call.what, "make");
  assert.equal(call.answer, "Allowed on “iPhone”");
  assert.equal(call.ms, 1000); // from the answer on
});

test("what was allowed as edited is what the row says", () => {
  const asked = event("permission.request", bash, { title: "⚠ Permission: Bash(make)" });
  const decided = event("permission.decision", { decision_type: "allow", edited: true, updated_input: { command: "make -n\u202e" } }, { body: "command (changed)\n- make\n+ make -n", ...after(asked) });
  const failed = event("tool.failure", { tool_name: "Bash", tool_input: { command: "make -n\u202e" }, error: "Exit code 2" });
  const [call, ...rest] = transcript([asked, decided, failed]) as Call[];
  assert.equal(call!.what, "make -n⟦U+202E⟧");
  assert.equal(call!.answer, "Allowed as edited");
  assert.equal(call!.mark, "failed");
  assert.equal(call!.why, "Exit code 2");
  assert.equal(rest.length, 0);
});

test("what ran as it was asked for, although it was allowed as edited", () => {
  const asked = event("permission.request", bash, { title: "⚠ Permission: Bash(make)" });
  const decided = event("permission.decision", { decision_type: "allow", edited: true, updated_input: { command: "make -n" } }, after(asked));
  const overruled = event("permission.overruled", { edited: true }, after(decided));
  const call = transcript([asked, decided, overruled])[0] as Call;
  assert.deepEqual([call.mark, call.what, call.answer], ["overruled", "make", "Allowed as edited"]);
});

test("a result without a cause belongs to the only call that it can be meant for", () => {
  const result = () => event("tool.post", { ...bash, tool_response: {} });
  const one = event("permission.request", bash, { title: "⚠ Permission: Bash(make)" });
  assert.deepEqual(marks([one, result()]), ["ran"]);
  const two = event("permission.request", bash, { title: "⚠ Permission: Bash(make)" });
  assert.deepEqual(marks([one, two, result()]), ["waiting", "waiting", "ran"]);
});

test("a denial that the terminal overruled, and a call without a result", () => {
  const pre = event("tool.pre", bash);
  const asked = event("permission.request", bash, after(pre));
  const denied = event("permission.decision", { decision_type: "deny", message: "no" }, after(asked));
  assert.deepEqual(marks([pre, asked, denied, event("tool.post", { ...bash, tool_response: {} }, after(pre))]), ["overruled"]);
  assert.deepEqual(marks([pre, event("run.end", { status: "aborted" }, { title: "■ Interrupted" })]), ["over", "end"]);
});

test("pieces of a message are one, and the end of the turn does not repeat it", () => {
  const piece = (delta: string) => event("message", { message_id: "m", index: 0, final: true, delta });
  const stop = event("stop.request", { stop_hook_active: false, scope: "root", last_message: "Done. All good." });
  const said = (lines: Line[]) => transcript(lines).map((r) => (r.kind === "words" ? r.text : r.kind));
  assert.deepEqual(said([piece("Done. "), piece("All good."), stop]), ["Done. All good."]);
  assert.deepEqual(said([stop, event("message", { message_id: "n", index: 0, final: true, delta: "Done. All good." })]), ["Done. All good."]);
  assert.deepEqual(said([stop]), ["Done. All good."]);
});

test("a prompt of another session is not a person's", () => {
  const [row] = transcript([event("user.prompt", { prompt: "<x>do it</x>", cwd: "/", source: "session_message", from: "ci", summary: "do it" })]);
  assert.deepEqual([row!.kind, row!.kind === "prompt" && row.from, row!.kind === "prompt" && row.text], ["prompt", "ci", "do it"]);
});

test("files that a session changed", () => {
  const ran = (tool_name: string, tool_input: object, tool_response: object = {}) => {
    const pre = event("tool.pre", { tool_name, tool_input }, { title: `● ${tool_name}(x)` });
    return [pre, event("tool.post", { tool_name, tool_input, tool_response }, after(pre))];
  };
  const lines = [
    ...ran("Edit", { file_path: "/srv/shop/a.js", old_string: "let a", new_string: "const a\nconst b" }),
    ...ran("Write", { file_path: "/srv/shop/b.js", content: "x\ny" }, { type: "update", structuredPatch: [{ lines: [" x", "-z", "+y"] }] }),
    ...ran("Write", { file_path: "/srv/shop/c.js", content: "x\ny" }),
    ...ran("Read", { file_path: "/srv/shop/d.js" }),
    event("tool.pre", { tool_name: "Write", tool_input: { file_path: "/srv/shop/e.js", content: "" } }), // it did not run
  ];
  const files = changedFiles(transcript(lines).filter((r) => r.kind === "call"));
  assert.deepEqual(
    files.map((f) => {
      const { plus, minus } = counted(f.edits.flatMap((e) => diffsOf(e.change)));
      return `${f.path} +${plus} -${minus}${f.edits.some((e) => e.change.blind) ? " blind" : ""}`;
    }),
    ["/srv/shop/c.js +2 -0 blind", "/srv/shop/b.js +1 -1", "/srv/shop/a.js +2 -1"],
  );
});
