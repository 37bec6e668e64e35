import assert from "node:assert/strict";
import { test } from "node:test";

import { Breaker, type BreakerSettings } from "../src/breaker.js";

function breaker(settings: BreakerSettings = {}, jitter = 0) {
  const around = { time: 0, now: () => around.time, jitter: () => jitter };
  const lines: string[] = [];
  const log = { info: (line: string) => lines.push(line), warn: (line: string) => lines.push(line) };
  return { made: new Breaker(settings, log, around), around, lines };
}

function enter(made: Breaker) {
  const permit = made.enter();
  assert.ok(permit);
  return permit;
}

function fail(made: Breaker, times: number): void {
  for (let failure = 0; failure < times; failure++) made.fail(enter(made), "UNAVAILABLE");
}

test("it opens after five failures in a row, not after five in all", () => {
  const { made } = breaker();
  fail(made, 4);
  made.succeed(enter(made));
  fail(made, 4);
  assert.equal(made.state, "closed");
  fail(made, 1);
  assert.equal(made.state, "open");
  assert.equal(made.enter(), undefined);
});

test("one call at a time finds out, and the wait doubles up to its bound", () => {
  const { made, around } = breaker({ failures: 1, backoffMs: 1000, maxBackoffMs: 3000 });
  fail(made, 1);
  for (const wait of [1000, 2000, 3000, 3000]) {
    around.time += wait - 1;
    assert.equal(made.enter(), undefined);
    around.time += 1;
    const probe = enter(made);
    assert.equal(made.state, "half-open");
    assert.equal(made.enter(), undefined);
    made.fail(probe, "UNAVAILABLE");
    assert.equal(made.state, "open");
  }
  around.time += 3000;
  made.succeed(enter(made));
  assert.equal(made.state, "closed");
  fail(made, 1);
  around.time += 1000;
  assert.ok(made.enter(), "the wait begins anew");
});

test("jitter takes up to a fifth off", () => {
  const { made, around } = breaker({ failures: 1 }, 0.999);
  fail(made, 1);
  around.time += 801;
  assert.ok(made.enter());
});

test("calls from before have no say any more", () => {
  const { made, around } = breaker({ failures: 1 });
  const [slow, slower] = [enter(made), enter(made)];
  fail(made, 1);
  made.succeed(slow);
  assert.equal(made.state, "open");
  around.time += 1000;
  made.succeed(enter(made));
  made.fail(slower, "UNAVAILABLE");
  assert.equal(made.state, "closed");
});

test("a probe that tells nothing is followed by the next, one that never ends too", () => {
  const { made, around } = breaker({ failures: 1, maxBackoffMs: 5000 });
  fail(made, 1);
  around.time += 1000;
  made.release(enter(made));
  assert.ok(made.enter());
  around.time += 5000;
  assert.ok(made.enter());
});

test("it writes one line per change", () => {
  const { made, around, lines } = breaker();
  fail(made, 5);
  for (let call = 0; call < 100; call++) made.enter();
  around.time += 1000;
  made.succeed(enter(made));
  assert.deepEqual(
    lines.map((line) => /circuit ([a-z-]+)/.exec(line)?.[1]),
    ["open", "half-open", "closed"],
  );
  assert.match(lines[0] ?? "", /UNAVAILABLE/);
});

test("it may be told never to open", () => {
  const { made } = breaker({ failures: Infinity });
  fail(made, 100);
  assert.equal(made.state, "closed");
});
