import assert from "node:assert/strict";
import { test } from "node:test";

import type { Decision, LookupOptions } from "askonce";
import type { FakeAskOnce } from "askonce/testing";

import { hello, paris, patient, sleep, text } from "./requests.js";

/** Looks n requests up at once. */
function crowd(fake: FakeAskOnce, n: number, options: LookupOptions = {}): Promise<Decision[]> {
  return Promise.all(Array.from({ length: n }, (_, at) => fake.lookup(hello(String(at)), options)));
}

function count(calls: readonly string[], name: string): number {
  return calls.filter((call) => call === name).length;
}

/** Returns a fake whose client has learnt what rules there are, which takes some Lookups at once. */
async function warm(fake = patient()): Promise<FakeAskOnce> {
  for (let round = 0; round < 400; round++) {
    const before = fake.calls.length;
    await crowd(fake, 8);
    if (fake.calls.slice(before).includes("BatchLookup")) return fake;
  }
  throw new Error("Lookups never go out together");
}

const rule = { id: "default", mode: "serve", scope: ["tenant"], ttlMs: 0 };

test("Lookups that arrive meanwhile go out together", async () => {
  const fake = await warm();
  for (let at = 0; at < 100; at++)
    await fake.store(hello(String(at)), { ...paris(), body: `{"answer":${at}}` });
  const before = fake.calls.length;
  for (const [at, decision] of (await crowd(fake, 100)).entries()) {
    assert.ok(decision.hit);
    assert.equal(text(decision.body), `{"answer":${at}}`);
    assert.equal(decision.sameAs, undefined);
  }
  const calls = fake.calls.slice(before);
  assert.ok(calls.length <= 3, `${calls.length} calls for 100 Lookups`);
  assert.ok(count(calls, "BatchLookup") > 0);
});

test("identical Lookups of one batch are given the same answer", async () => {
  const fake = await warm();
  await fake.store(hello("same"), paris());
  const decisions = await Promise.all(Array.from({ length: 20 }, () => fake.lookup(hello("same"))));
  assert.ok(decisions.every((decision) => decision.hit && text(decision.body) === paris().body));
});

test("a lone Lookup goes alone", async () => {
  const fake = await warm();
  const before = fake.calls.length;
  for (let at = 0; at < 20; at++) await fake.lookup(hello(String(at)));
  assert.equal(count(fake.calls.slice(before), "Lookup"), 20);
});

test("what may wait for an embedding goes alone", async () => {
  const fake = patient();
  fake.setRules({ ...rule, strategy: ["exact", "semantic"] });
  for (let round = 0; round < 20; round++) await crowd(fake, 10);
  assert.equal(count(fake.calls, "BatchLookup"), 0);
});

test("under mixed rules only the kinds that are known never to wait gather", async () => {
  const fake = patient();
  fake.setRules({ ...rule, strategy: ["exact"] }, { ...rule, id: "near", strategy: ["semantic"] });
  await warm(fake);
  const other = { ...hello("x"), served: { provider: "openai", model: "another" } };
  const before = fake.calls.length;
  await Promise.all([1, 2, 3].map(() => fake.lookup(other))); // nobody knows its rule
  assert.equal(count(fake.calls.slice(before), "BatchLookup"), 0);
});

for (const [what, coalescing, options] of [
  ["while coalescing is off", false, {}],
  ["that waits for others", true, { waitForFillMs: 1000 }],
  ["with metadata of its own", true, { metadata: { "x-mine": "1" } }],
] as const) {
  test(`a Lookup goes alone ${what}`, async () => {
    const fake = patient({ coalescing });
    if (coalescing) await warm(fake);
    const before = fake.calls.length;
    await crowd(fake, 20, options);
    assert.equal(count(fake.calls.slice(before), "Lookup"), 20);
  });
}

test("in a batch budgets and cancellation stay each caller's own", async () => {
  const fake = await warm();
  fake.setDelay(1000);
  const slow = crowd(fake, 8); // these take the lane, and the batch behind it
  await sleep(10);
  const [hasty, gone, steady] = await Promise.all([
    fake.lookup(hello("hasty"), { budgetMs: 20 }),
    fake.lookup(hello("gone"), { signal: AbortSignal.timeout(20) }),
    fake.lookup(hello("patient")),
  ]);
  assert.equal(hasty.bypassReason, "sidecar_timeout");
  assert.equal(gone.bypassReason, "caller_gone");
  assert.equal(steady.outcome, "miss");
  await slow;
  const sent = fake.lookups.map(({ descriptor }) => text((descriptor?.content.value as Uint8Array) ?? []));
  assert.ok(!sent.some((body) => body.includes("gone") || body.includes("hasty")), "nobody waited for these");
  assert.equal(fake.breakerState, "closed");
});

test("a batch that fails is one failure, and a bypass for each", async () => {
  const fake = await warm();
  for (let failure = 0; failure < 3; failure++) fake.willFail("UNAVAILABLE");
  const decisions = await crowd(fake, 60);
  assert.ok(decisions.filter(({ bypassReason }) => bypassReason === "sidecar_unreachable").length > 10);
  assert.equal(fake.breakerState, "closed");
});

test("an item that cannot be encoded spoils no other", async () => {
  const fake = await warm();
  const asked = [...Array(9).keys()].map((at) =>
    fake.lookup(at === 5 ? hello("x") && { ...hello("x"), dialect: "\ud800" } : hello(String(at))),
  );
  const decisions = await Promise.all(asked);
  assert.deepEqual(
    decisions.map(({ outcome }) => outcome),
    Array.from({ length: 9 }, (_, at) => (at === 5 ? "bypass" : "miss")),
  );
});

test("a batch stays below a mebibyte and 256 items", async () => {
  const fake = await warm();
  const before = fake.lookups.length;
  const small = crowd(fake, 600);
  const large = Array.from({ length: 10 }, (_, at) => fake.lookup(hello("x".repeat(400 << 10) + at)));
  await Promise.all([small, ...large]);
  assert.equal(fake.lookups.length - before, 610);
  for (const { items, bytes } of fake.batches) assert.ok(items <= 256 && (items === 1 || bytes <= 1 << 20));
  assert.ok(fake.batches.some(({ items }) => items === 256));
});

test("a caller may change its body once it has asked", async () => {
  const fake = await warm();
  const bodies = Array.from({ length: 20 }, (_, at) =>
    Buffer.from(`{"temperature":0,"messages":[${at + 10}]}`),
  );
  const before = fake.lookups.length;
  const asked = bodies.map((bodyJson) => fake.lookup({ ...hello(""), content: { bodyJson } }));
  for (const body of bodies) body.fill(0);
  await Promise.all(asked);
  const sent = fake.lookups
    .slice(before)
    .map(({ descriptor }) => text(descriptor?.content.value as Uint8Array));
  assert.ok(
    sent.every((body) => body.startsWith('{"temperature"')),
    sent.find((body) => !body.startsWith("{")),
  );
});
