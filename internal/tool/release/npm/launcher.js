#!/usr/bin/env node
// Runs the program for this machine, which one of the optional packages brought: the same input and
// output, the same signals, the same exit status.
"use strict";
const { spawn } = require("node:child_process");
const path = require("node:path");

const packages = PACKAGES;
const name = packages[process.platform + " " + process.arch];

function fail(why) {
  console.error("assent: " + why);
  process.exit(1);
}

if (!name) {
  fail(`there is no assent for ${process.platform} on ${process.arch}` + (process.platform === "win32" ? "; use WSL" : "; build it from source"));
}
let program;
try {
  program = path.join(path.dirname(require.resolve(name + "/package.json")), "bin", "assent");
} catch {
  fail(`the package ${name} is missing: npm was told to leave optional packages out, or node_modules comes from another machine. Install again, without --omit=optional`);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (err) => fail(`cannot run ${program}: ${err.message}`));
// This program ends when the child does. One from the terminal reaches the child twice, to which the
// second says nothing new.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("exit", (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
    setTimeout(() => process.exit(1), 1000); // of a signal that does not end a process
  } else {
    process.exit(code);
  }
});
