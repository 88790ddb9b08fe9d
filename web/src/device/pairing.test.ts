import assert from "node:assert/strict";
import test from "node:test";
import { ApiError } from "../broker/http";
import { Wait } from "./pairing";

// What the page would have; node has no window.
const page = new EventTarget() as EventTarget & { hidden: boolean };
page.hidden = false;
Object.assign(globalThis, { document: page, addEventListener: page.addEventListener.bind(page) });

const refused = new ApiError(403, { status: 403, title: "Forbidden", type: "about:blank" });
const nobody = new ApiError(0, {});
const turn = () => new Promise<void>((done) => setImmediate(done));

type Answer = string | undefined | Error;

/** Runs a wait over these answers of the broker, and returns what was heard and when it was
 * asked, in seconds. */
async function run(t: test.TestContext, answers: Answer[], seconds: number, meanwhile: (second: number) => void = () => {}) {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const heard: string[] = [];
  const asked: number[] = [];
  let second = 0;
  const wait = new Wait<string>(
    async () => {
      asked.push(second);
      const a = answers[Math.min(asked.length, answers.length) - 1];
      if (a instanceof Error) throw a;
      return a;
    },
    { paired: (d) => heard.push(d), over: () => heard.push("over"), silent: (yes) => heard.push(yes ? "silent" : "waiting") },
  );
  wait.start();
  await turn();
  for (second = 1; second <= seconds; second++) {
    t.mock.timers.tick(1000);
    meanwhile(second);
    await turn();
  }
  wait.stop();
  return { heard, asked };
}

test("asks every two seconds until somebody typed the code", async (t) => {
  const { heard, asked } = await run(t, [undefined, undefined, "device"], 20);
  assert.deepEqual(heard, ["waiting", "waiting", "device"]);
  assert.deepEqual(asked, [0, 2, 4]);
});

test("ends when the broker says no, and only then", async (t) => {
  const elsewhere = new ApiError(403, {}); // a proxy in between
  const { heard } = await run(t, [nobody, elsewhere, undefined, refused], 60);
  assert.deepEqual(heard, ["silent", "silent", "waiting", "over"]);
});

test("asks more rarely while there is no answer, and at once after a sleep", async (t) => {
  const { asked } = await run(t, [nobody], 40, (second) => second === 37 && page.dispatchEvent(new Event("visibilitychange")));
  assert.deepEqual(asked, [0, 4, 12, 27, 37]);
});

test("an answer to an earlier question is not taken", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const answers: ((d: string | undefined) => void)[] = [];
  const heard: string[] = [];
  const wait = new Wait<string>(() => new Promise((done) => answers.push(done)), {
    paired: (d) => heard.push(d),
    over: () => heard.push("over"),
    silent: () => heard.push("waiting"),
  });
  wait.start();
  page.dispatchEvent(new Event("online"));
  answers[0]!("first");
  answers[1]!("second");
  await turn();
  page.dispatchEvent(new Event("online")); // it is over: nobody listens
  assert.deepEqual(heard, ["second"]);
  assert.equal(answers.length, 2);
});
