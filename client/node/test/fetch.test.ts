import assert from "node:assert/strict";
import { test } from "node:test";

import { type Fetched, fromOpenAIChat, type LookupOptions, type UpstreamResponse } from "askonce";
import type { FakeAskOnce } from "askonce/testing";

import { hello, paris, patient, sleep, text, until } from "./requests.js";

/** Counts its calls, which take until `release` is called. */
class Provider {
  calls = 0;
  readonly #released: Promise<void>;
  release: () => void = () => undefined;

  constructor(private readonly answer: (call: number) => UpstreamResponse = paris) {
    this.#released = new Promise((resolve) => (this.release = resolve));
  }

  readonly fill = async (signal?: AbortSignal): Promise<UpstreamResponse> => {
    const call = ++this.calls;
    const gone = new Promise<never>((_, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    });
    await Promise.race([this.#released, gone]);
    return this.answer(call);
  };
}

/** Fetches the same request for n callers at once, of whom the provider answers when it has been asked. */
async function fetchAll(fake: FakeAskOnce, n: number, provider: Provider, options: LookupOptions = {}) {
  const asked = Array.from({ length: n }, () => fake.fetch(hello("hi"), provider.fill, options));
  const settled = Promise.allSettled(asked);
  await until(() => provider.calls > 0);
  await sleep(20); // the others have come meanwhile
  provider.release();
  const outcomes = await settled;
  const fetched = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
  return { fetched, failed: n - fetched.length };
}

test("it fills once and serves from then on", async () => {
  const fake = patient();
  const provider = new Provider();
  provider.release();
  for (const hit of [false, true, true]) {
    const got = await fake.fetch(hello("hi"), provider.fill, { omitBody: true });
    assert.equal(text(got.body), paris().body);
    assert.equal(got.statusCode, 200);
    assert.equal(got.contentType, "application/json");
    assert.equal(got.decision.hit, hit);
  }
  assert.equal(provider.calls, 1);
});

test("a hundred callers with one request call the provider once", async () => {
  const fake = patient();
  const provider = new Provider();
  const { fetched } = await fetchAll(fake, 100, provider);
  const hits = fetched.filter(({ decision }) => decision.hit);
  assert.ok(fetched.length === 100 && fetched.every(({ body }) => text(body) === paris().body));
  assert.deepEqual([provider.calls, hits.length], [1, 99]);
  assert.deepEqual(fake.calls, ["Lookup", "Store"]);
  const again = await fake.lookup(hello("hi"));
  for (const { decision } of hits) {
    assert.ok(decision.collapsed && decision.hit && again.hit);
    assert.equal(decision.kind, "exact");
    assert.equal(decision.cacheStatus, "askonce; fwd=miss; collapsed");
    assert.equal(decision.candidate.entryId, again.candidate.entryId);
    assert.deepEqual(decision.candidate.usage, again.candidate.usage);
    assert.equal(decision.candidate.stream, "json");
  }
});

test("when the first fails, one of those who waited is next", async () => {
  const provider = new Provider((call) => {
    if (call === 1) throw new Error("connection reset");
    return paris();
  });
  const { failed } = await fetchAll(patient(), 50, provider);
  assert.deepEqual([failed, provider.calls], [1, 2]);
});

test("a provider that is down is not asked by one caller at a time", async () => {
  const provider = new Provider(() => {
    throw new Error("connection refused");
  });
  const { failed } = await fetchAll(patient(), 50, provider);
  assert.deepEqual([failed, provider.calls], [50, 50]);
});

test("an answer that is not stored is not waited for again", async () => {
  const provider = new Provider(() => fromOpenAIChat(500, '{"error":{}}'));
  const { fetched } = await fetchAll(patient(), 20, provider);
  assert.ok(
    fetched.length === 20 && fetched.every(({ statusCode, decision }) => statusCode === 500 && !decision.hit),
  );
  assert.equal(provider.calls, 20, "an error belongs to its own caller");
});

test("who comes while an answer is not stored, and stores its own, is waited for", async () => {
  const fake = patient();
  const first = await fake.claim(hello("hi"));
  fake.setDelay(100);
  fake.willRefuse("truncated");
  first.storeAsync(paris());
  const second = await fake.claim(hello("hi")); // waits for a Store that is refused
  assert.equal(second.decision.outcome, "miss");
  second.storeAsync(paris());
  assert.ok((await fake.claim(hello("hi"))).decision.collapsed);
});

test("what may not be stored is not shared", async () => {
  const fake = patient();
  for (let call = 0; call < 20; call++) fake.willBypass("sampled_request");
  const provider = new Provider();
  await fetchAll(fake, 20, provider);
  assert.equal(provider.calls, 20);
});

test("a refresh is not answered by what another brought", async () => {
  const provider = new Provider();
  await fetchAll(patient(), 5, provider, { controls: { mode: "refresh" } });
  assert.equal(provider.calls, 5);
});

test("a caller that goes in the middle leaves no lease, and the next one fills", async () => {
  const fake = patient();
  const provider = new Provider();
  fake.willDecide({ outcome: 2, leaseHolder: true });
  const caller = new AbortController();
  const gone = fake.fetch(hello("hi"), provider.fill, { signal: caller.signal });
  await until(() => provider.calls === 1);
  caller.abort(new Error("the caller has gone"));
  await assert.rejects(gone, /has gone/);
  await until(() => fake.abandons.length === 1);
  assert.equal(fake.stores.length, 0);
  provider.release();
  assert.ok(!(await fake.fetch(hello("hi"), provider.fill)).decision.hit);
  assert.ok((await fake.fetch(hello("hi"), provider.fill)).decision.hit);
});

test("an outage is no error of fetch, unless the client is strict", async () => {
  const provider = new Provider();
  provider.release();
  const fake = patient();
  fake.willFail("UNAVAILABLE");
  assert.equal((await fake.fetch(hello("hi"), provider.fill)).statusCode, 200);
  assert.deepEqual([provider.calls, fake.stores.length], [1, 0]);
  const strict = patient({ strict: true });
  strict.willFail("UNAVAILABLE");
  await assert.rejects(strict.fetch(hello("hi"), provider.fill), { kind: "unreachable" });
  assert.ok(!(await strict.fetch(hello("hi"), provider.fill)).decision.hit, "nobody is waited for");
});

test("an answer is not held up by its Store, and is stored once", async () => {
  const fake = patient();
  const claim = await fake.claim(hello("hi"));
  fake.setDelay(200);
  claim.storeAsync(paris());
  await claim.abandon(); // as in a finally: it has no say any more
  let filled = 0;
  const comesMeanwhile: Promise<Fetched> = fake.fetch(hello("hi"), () => (filled++, paris()));
  const late = await claim.store(paris());
  assert.equal(late.refusalReason, "nothing_to_fill");
  assert.ok((await comesMeanwhile).decision.collapsed);
  assert.deepEqual([filled, fake.abandons.length, fake.stores.length], [0, 0, 1]);
});

test("a Store that fails later is logged and nothing else, also in a strict client", async () => {
  const lines: string[] = [];
  const log = { info: (line: string) => lines.push(line), warn: (line: string) => lines.push(line) };
  const fake = patient({ strict: true, log });
  const claim = await fake.claim(hello("hi"));
  fake.willFail("INVALID_ARGUMENT");
  claim.storeAsync(paris());
  await until(() => lines.length === 1);
});

test("how long to wait for others travels, and bounds the wait here", async () => {
  const fake = patient();
  const provider = new Provider();
  const asked = [1, 2].map(() => fake.fetch(hello("hi"), provider.fill, { waitForFillMs: 30 }));
  await until(() => provider.calls === 2); // the second caller has waited long enough and fills by itself
  provider.release();
  await Promise.all(asked);
  assert.ok(fake.lookups.every(({ waitForFill }) => waitForFill?.nanos === 30_000_000));
});

test("a caller that waits may go", async () => {
  const fake = patient();
  const provider = new Provider();
  const first = fake.fetch(hello("hi"), provider.fill);
  await until(() => provider.calls === 1);
  const second = await fake.claim(hello("hi"), { signal: AbortSignal.timeout(5) });
  assert.equal(second.decision.bypassReason, "caller_gone");
  provider.release();
  await first;
});
