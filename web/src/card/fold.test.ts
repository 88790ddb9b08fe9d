import assert from "node:assert/strict";
import test from "node:test";
import type { PermissionRequest, Unit } from "../broker/types.gen";
import { rowsOf } from "./exact";
import { foldedLines, runsOf } from "./fold";

/** A request as the broker reads plain commands: a unit for each line, its program the first word. */
function request(text: string, more: Partial<PermissionRequest> = {}): PermissionRequest {
  const units = rowsOf(text).filter((r) => r.text.trim() && !r.text.startsWith("#")).map((r): Unit => ({ start: r.at, end: r.at + r.text.length, kind: "command", program: r.text.split(" ")[0]!, text: r.text }));
  return { risk: "calm", units, ...more };
}

const echo = (n: number) => Array.from({ length: n }, (_, i) => `echo ${i}`).join("\n");
const mark = (text: string, what: string, risk: "attention" | "danger" = "danger") => ({ risk, marks: [{ start: text.indexOf(what), end: text.indexOf(what) + what.length, risk }] });
const folded = (text: string, r: PermissionRequest) => runsOf(r, text, rowsOf(text)).filter((run) => run.folded).flatMap((run) => run.rows.map((row) => row.text));

test("what is short is not folded, and of the rest beginning and end stay", () => {
  for (const n of [1, 8]) assert.deepEqual(folded(echo(n), request(echo(n))), []);
  const runs = runsOf(request(echo(12)), echo(12), rowsOf(echo(12)));
  assert.deepEqual(runs.map((r) => [r.folded, r.from, r.rows.length]), [[false, 0, 3], [true, 3, 7], [false, 10, 2]]);
  assert.equal(foldedLines(runs), 7);
  assert.deepEqual(runs.flatMap((r) => r.rows.map((row) => row.text)).join("\n"), echo(12), "no line is lost");
});

test("no marked part is folded, wherever it stands", () => {
  for (let at = 0; at < 20; at++) {
    const lines = echo(20).split("\n");
    lines[at] = "rm -rf build";
    const text = lines.join("\n");
    const got = folded(text, request(text, mark(text, "-rf")));
    assert.ok(!got.some((l) => l.includes("rm")), `line ${at + 1}`);
    assert.ok(got.length >= 10);
  }
});

test("where there is danger, only what prints is folded", () => {
  for (const [line, folds] of [["git commit -m x", false], ["sh x.sh", false], ["mv a b", false], ["echo more", true]] as const) {
    const text = `${echo(6)}\n${line}\n${echo(8)}\nrm -rf build`;
    assert.equal(folded(text, request(text, mark(text, "-rf"))).includes(line), folds, line);
    assert.ok(folded(text, request(text)).includes(line), `${line}, calm`);
  }
});

test("all lines of a command that is marked stay", () => {
  const body = echo(10);
  const text = `${echo(6)}\nbash -c '${body}\nrm -rf ~'\n${echo(6)}`;
  const at = text.indexOf("bash");
  const r = request(text, mark(text, "rm -rf"));
  r.units = [...r.units!.filter((u) => u.end <= at || u.start > text.indexOf("~'")), { start: at, end: text.indexOf("~'") + 2, kind: "command", program: "bash", text: "" }];
  for (const row of runsOf(r, text, rowsOf(text)).filter((run) => run.folded).flatMap((run) => run.rows)) assert.ok(row.at < at || row.at > text.indexOf("~'"));
});

test("lines that may mean something else, or change what others mean, stay", () => {
  for (const line of ["cd /", "export PATH=/tmp", "source x", "eval $X", ". ./env", "alias ls=rm", "sudo ls"]) {
    const text = `${echo(6)}\n${line}\n${echo(8)}`;
    assert.ok(!folded(text, request(text)).includes(line), line);
  }
  for (const line of ["for f in *; do", "X=1", "} > /etc/passwd", "ls > out"]) { // a unit covers none of it, or the beginning
    const text = `${echo(6)}\n${line}\n${echo(8)}`;
    const r = request(text);
    const at = text.indexOf(line);
    r.units = r.units!.map((u) => (u.start === at ? { ...u, end: at + (line.startsWith("ls") ? 2 : 0) } : u));
    assert.ok(!folded(text, r).includes(line), line);
  }
  const text = `${echo(6)}\ngit $x\n${echo(8)}`;
  const doubt = { code: "expansion", start: text.indexOf("$x"), end: text.indexOf("$x") + 2, why: "" };
  assert.ok(!folded(text, request(text, { doubts: [doubt] })).includes("git $x"));
  for (const change of [{ kind: "write" }, { kind: "opaque" }, { guessed: true }, { inner: true }, { dirUnknown: true }, { program: "" }] as Partial<Unit>[]) {
    const r = request(text);
    r.units = r.units!.map((u) => (u.text === "git $x" ? { ...u, ...change } : u));
    assert.ok(!folded(text, r).includes("git $x"), JSON.stringify(change));
  }
});

test("nothing is folded where assent cannot say what it does, or where", () => {
  const text = echo(20);
  const whole = { code: "syntax", start: 0, end: text.length, why: "" };
  for (const more of [{ risk: undefined }, { units: [] }, { moreUnits: 1 }, { doubts: [whole] }, { doubts: [{ ...whole, end: 0 }] }, { risk: "danger" }, { risk: "attention", marks: [] }, { uninspectable: "x" }] as Partial<PermissionRequest>[]) {
    assert.deepEqual(folded(text, request(text, more)), [], JSON.stringify(more));
  }
  const here = `cat > x <<EOF\n${echo(20)}\nEOF`;
  assert.deepEqual(folded(here, request(here)), []);
});
