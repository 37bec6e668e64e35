import assert from "node:assert/strict";
import { test } from "node:test";

import { create, toBinary } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import {
  AskOnce,
  AskOnceError,
  fromOpenAIChat,
  isDeterministic,
  type Log,
  openAIChat,
  type StoreRequest,
} from "askonce";
import { FakeAskOnce } from "askonce/testing";

import { acme, gpt4o, hello, paris, patient, quiet, sleep, text, until } from "./requests.js";

test("a miss is stored and the next Lookup hits", async () => {
  const fake = patient();
  const missed = await fake.lookup(hello("hi"));
  assert.equal(missed.outcome, "miss");
  assert.ok(missed.storeAnswer);
  const stored = await fake.store(missed, paris());
  assert.ok(stored.stored);
  const hit = await fake.lookup(hello("hi"));
  assert.ok(hit.hit);
  assert.equal(text(hit.body), paris().body);
  assert.equal(hit.contentType, "application/json");
  assert.equal(hit.candidate.entryId, stored.entries[0]?.entryId);
  assert.deepEqual(hit.candidate.usage, { inputTokens: 7, outputTokens: 2 });
  assert.ok((await fake.feedback(hit, "correct", "user")).recorded);
});

test("a body is given as text, as bytes or as a value", async () => {
  const fake = patient();
  const value = { temperature: 0, messages: [] };
  const written = JSON.stringify(value);
  await fake.store(openAIChat(value, gpt4o, acme), paris());
  for (const body of [value, written, Buffer.from(written), new TextEncoder().encode(written)]) {
    assert.ok((await fake.lookup(openAIChat(body, gpt4o, acme))).hit);
  }
});

test("an answer is given as text, as bytes or as a value", async () => {
  const value = { choices: [{ finish_reason: "stop", message: { content: "Paris." } }] };
  const written = JSON.stringify(value);
  for (const [number, body] of [value, written, Buffer.from(written)].entries()) {
    const fake = patient();
    const asked = hello(String(number));
    assert.ok((await fake.store(asked, fromOpenAIChat(200, body))).stored);
    const hit = await fake.lookup(asked);
    assert.ok(hit.hit);
    assert.equal(text(hit.body), written);
  }
});

test("what is no answer in spite of its type says nothing that would have it stored", () => {
  for (const body of [undefined, null, 7, () => {}] as unknown as object[]) {
    assert.equal(fromOpenAIChat(200, body).finishReasons?.length ?? 0, 0);
  }
});

test("a decision that asks for no Store costs no call", async () => {
  const fake = patient();
  const bypassed = await fake.lookup(openAIChat({}, gpt4o, {}));
  assert.equal(bypassed.bypassReason, "scope_missing");
  const stored = await fake.store(bypassed, paris());
  assert.equal(stored.refusalReason, "nothing_to_fill");
  assert.deepEqual(await fake.abandon(bypassed), { released: false, error: undefined });
  assert.deepEqual(fake.calls, ["Lookup"]);
});

test("a lease is given back, and a sidecar without leases is no error", async () => {
  const fake = patient({ strict: true });
  fake.willDecide({ outcome: 2, leaseHolder: true });
  const held = await fake.lookup(hello("hi"));
  assert.ok((await fake.abandon(held)).released);
  assert.deepEqual(fake.abandons, [held.fillToken]);
  fake.willFail("UNIMPLEMENTED");
  assert.deepEqual(await fake.abandon(new Uint8Array([1])), { released: false, error: undefined });
});

const failures = [
  ["UNAVAILABLE", "sidecar_unreachable", "unreachable"],
  ["DEADLINE_EXCEEDED", "sidecar_timeout", "budget_exceeded"],
  ["INTERNAL", "sidecar_failed", "sidecar_failed"],
  ["UNKNOWN", "sidecar_failed", "sidecar_failed"],
  ["INVALID_ARGUMENT", "request_refused", "invalid_request"],
  ["RESOURCE_EXHAUSTED", "request_refused", "too_large"],
  ["PERMISSION_DENIED", "request_refused", "call_refused"],
  ["UNIMPLEMENTED", "request_refused", "call_refused"],
] as const;

for (const [code, reason, kind] of failures) {
  test(`${code} is a bypass that carries the error, and is thrown by a strict client`, async () => {
    const fake = patient();
    fake.willFail(code);
    const decision = await fake.lookup(hello("hi"));
    assert.equal(decision.outcome, "bypass");
    assert.equal(decision.bypassReason, reason);
    assert.equal(decision.cacheStatus, `askonce; fwd=bypass; detail=${reason}`);
    assert.ok(!decision.hit && !decision.storeAnswer);
    assert.equal(decision.error?.kind, kind);
    assert.equal(decision.error?.code, code);
    fake.willFail(code);
    const stored = await fake.store(hello("hi"), paris());
    assert.ok(!stored.stored && stored.error);
    assert.equal(stored.refusalReason, reason);
    const strict = patient({ strict: true });
    strict.willFail(code);
    await assert.rejects(strict.lookup(hello("hi")), { name: "AskOnceError", kind });
  });
}

test("the budget bounds a Lookup", async () => {
  const fake = new FakeAskOnce({ budgetMs: 10, log: quiet });
  fake.setDelay(10_000);
  const decision = await fake.lookup(hello("hi"));
  assert.equal(decision.bypassReason, "sidecar_timeout");
});

test("a busy event loop does not look like a slow sidecar", async () => {
  const fake = new FakeAskOnce({ budgetMs: 20, log: quiet });
  const asked = fake.lookup(hello("hi"));
  for (const end = Date.now() + 100; Date.now() < end;); // the answer is there, but nobody reads it
  assert.equal((await asked).outcome, "miss");
});

test("a caller that goes says nothing of the sidecar", async () => {
  const fake = patient();
  fake.setDelay(10_000);
  for (let call = 0; call < 20; call++) {
    const decision = await fake.lookup(hello("hi"), { signal: AbortSignal.timeout(1) });
    assert.equal(decision.bypassReason, "caller_gone");
  }
  assert.equal((await fake.lookup(hello("hi"), { signal: AbortSignal.abort() })).error?.kind, "caller_gone");
  assert.equal(fake.breakerState, "closed");
});

test("the breaker spares a sidecar that fails, and refusals do not open it", async () => {
  const fake = patient();
  for (let call = 0; call < 20; call++) {
    fake.willFail("INVALID_ARGUMENT");
    await fake.lookup(hello("hi"));
  }
  assert.equal(fake.breakerState, "closed");
  for (let call = 0; call < 5; call++) {
    fake.willFail("UNAVAILABLE");
    await fake.lookup(hello("hi"));
  }
  assert.equal(fake.breakerState, "open");
  assert.equal((await fake.lookup(hello("hi"))).bypassReason, "circuit_open");
  assert.equal(fake.calls.length, 25);
});

test("a closed client bypasses, calls in flight included", async () => {
  const fake = patient();
  fake.setDelay(10_000);
  const inFlight = fake.lookup(hello("hi"));
  await until(() => fake.breakerState === "closed");
  fake.close();
  fake.close();
  assert.equal((await inFlight).bypassReason, "client_closed");
  assert.equal((await fake.lookup(hello("hi"))).bypassReason, "client_closed");
});

test("text that UTF-8 cannot spell is refused by its path and not quoted", async () => {
  const fake = patient({ strict: true });
  for (const [descriptor, field] of [
    [{ ...hello("hi"), scope: { tenant: "secret\ud800" } }, "descriptor.scope"],
    [openAIChat('{"secret": "\ud83d"}', gpt4o, acme), "descriptor.body_json"],
  ] as const) {
    await assert.rejects(fake.lookup(descriptor), (thrown: AskOnceError) => {
      assert.equal(thrown.kind, "invalid_request");
      assert.deepEqual(
        thrown.violations.map(({ field: bad }) => bad),
        [field],
      );
      assert.ok(!thrown.message.includes("secret"));
      return true;
    });
  }
  assert.deepEqual(fake.calls, []);
});

test("what the contract has no words for is refused, not taken for the default", async () => {
  const fake = patient();
  const controls = { mode: "sometimes", ttlMs: NaN } as unknown as { mode: "bypass" };
  const decision = await fake.lookup(hello("hi"), { controls });
  assert.deepEqual(
    decision.error?.violations.map(({ field }) => field),
    ["controls.mode", "controls.ttl"],
  );
  const usage = { inputTokens: 1.5, outputTokens: -1 };
  const stored = await fake.store(hello("hi"), { ...paris(), usage });
  assert.equal(stored.error?.violations.length, 2);
  assert.deepEqual(fake.calls, []);
});

test("each kind of mistake is logged once, without what was sent", async () => {
  const lines: string[] = [];
  const log = { info: (line: string) => lines.push(line), warn: (line: string) => lines.push(line) };
  const fake = patient({ log });
  for (let call = 0; call < 50; call++) {
    fake.willFail("INVALID_ARGUMENT", "the prompt: secret");
    await fake.lookup(hello("secret"));
    fake.willFail("UNAVAILABLE");
    await fake.lookup(hello("secret"));
  }
  assert.equal(lines.length, 1);
  assert.ok(!lines[0]?.includes("secret"));
});

test("clients that cannot work are not made", () => {
  assert.throws(() => new AskOnce(""), RangeError);
  assert.throws(() => new AskOnce(process.env["NOT_SET"] as string), /there must be a target/);
  const log = (() => {}) as unknown as Log;
  assert.throws(() => new AskOnce("localhost:1", { log }), /log must have info\(line\) and warn\(line\)/);
  assert.throws(() => new AskOnce("localhost:1", { channels: 0 }), RangeError);
  assert.throws(() => new AskOnce("localhost:1", { budgetMs: 0 }), RangeError);
  assert.throws(() => new AskOnce("localhost:1", { storeTimeoutMs: -1 }), RangeError);
});

test("a hit that cannot be served is a bypass", async () => {
  for (const decision of [
    { outcome: 1 },
    { outcome: 1, candidate: {} },
    { outcome: 1, shadow: true, candidate: { body: { data: new Uint8Array([1]) } } },
  ]) {
    const fake = patient();
    fake.willDecide(decision);
    assert.equal((await fake.lookup(hello("hi"))).bypassReason, "sidecar_failed");
  }
});

test("what a newer sidecar says reads as no cache", async () => {
  const fake = patient();
  const token = new Uint8Array([1]);
  const said = {
    outcome: 99,
    kind: 99,
    bypassReason: 99,
    storeAnswer: true,
    fillToken: token,
    leaseHolder: true,
  };
  fake.willDecide(said as object);
  const decision = await fake.lookup(hello("hi"));
  assert.equal(decision.outcome, "bypass");
  assert.equal(decision.kind, "unknown");
  assert.equal(decision.bypassReason, "unknown");
  assert.ok(!decision.storeAnswer && !decision.leaseHolder && decision.fillToken.length === 0);
});

test("counts beyond what a number can hold are unknown", async () => {
  const fake = patient();
  const usage = { inputTokens: 2n ** 63n, outputTokens: 1n };
  const evidence = { labels: 2n ** 53n - 1n, wrong: 3n };
  fake.willDecide({ outcome: 1, candidate: { usage, evidence, body: { data: new Uint8Array([1]) } } });
  const decision = await fake.lookup(hello("hi"));
  assert.equal(decision.candidate?.usage, undefined);
  assert.equal(decision.candidate?.evidence?.labels, Number.MAX_SAFE_INTEGER);
});

test("the details of an error are read, and what is none of them is left alone", async () => {
  const writer = () => new BinaryWriter();
  const entry = writer().uint32(10).string("limit").uint32(18).string("8 MiB").finish();
  const info = writer()
    .uint32(10)
    .string("TOO_LARGE")
    .uint32(18)
    .string("askonce")
    .uint32(26)
    .bytes(entry)
    .finish();
  const violation = writer().uint32(10).string("descriptor").uint32(18).string("is too large").finish();
  const badRequest = writer().uint32(10).bytes(violation).finish();
  const details = writer().uint32(8).int32(8);
  for (const [name, value] of [
    ["ErrorInfo", info],
    ["BadRequest", badRequest],
    ["Help", info],
  ] as const) {
    const any = create(AnySchema, { typeUrl: `type.googleapis.com/google.rpc.${name}`, value });
    details.tag(3, WireType.LengthDelimited).bytes(toBinary(AnySchema, any));
  }
  const fake = patient();
  fake.willFail("RESOURCE_EXHAUSTED", "no", details.finish());
  const { error } = await fake.lookup(hello("hi"));
  assert.equal(error?.reason, "TOO_LARGE");
  assert.deepEqual(error?.metadata, { limit: "8 MiB" });
  assert.deepEqual(error?.violations, [{ field: "descriptor", description: "is too large" }]);
  assert.equal(error?.message, "RESOURCE_EXHAUSTED: no (descriptor: is too large)");
  fake.willFail("INVALID_ARGUMENT", "no", new Uint8Array([255, 255, 255]));
  assert.equal((await fake.lookup(hello("hi"))).error?.kind, "invalid_request");
});

test("trace context goes along with every call", async () => {
  let span = 0;
  const fake = patient({ propagate: (carrier) => (carrier["traceparent"] = `00-${++span}`) });
  const missed = await fake.lookup(hello("hi"), { metadata: { "x-mine": "1" } });
  await fake.store(missed, paris());
  assert.deepEqual(fake.metadata, [{ traceparent: "00-1", "x-mine": "1" }, { traceparent: "00-2" }]);
});

test("a batch keeps its order and each item its own failure", async () => {
  const fake = patient();
  await fake.store(hello("known"), paris());
  const spoilt = { ...hello("x"), dialect: "\ud800" };
  const texts = ["new", "", "known", "known", "new"];
  const decisions = await fake.batchLookup(
    texts.map((said) => ({ descriptor: said ? hello(said) : spoilt, waitForFillMs: 1000 })),
  );
  assert.deepEqual(
    decisions.map(({ outcome }) => outcome),
    ["miss", "bypass", "hit", "hit", "miss"],
  );
  assert.ok(decisions[0]?.storeAnswer && !decisions[4]?.storeAnswer);
  assert.equal(decisions[1]?.bypassReason, "request_refused");
  assert.ok(decisions[3]?.hit && text(decisions[3].body) === paris().body);
  assert.deepEqual(
    decisions.map(({ sameAs }) => sameAs),
    [undefined, undefined, undefined, 2, 0],
  );
  assert.ok(fake.lookups.every(({ waitForFill }) => waitForFill === undefined));
});

test("a batch of nothing costs no call, and one that fails fails open for every item", async () => {
  const fake = patient();
  assert.deepEqual(await fake.batchLookup([]), []);
  const bypassed = await new FakeAskOnce({ log: quiet }).lookup(openAIChat({}, gpt4o, {}));
  const [refused] = await fake.batchStore([{ source: bypassed, response: paris() }]);
  assert.equal(refused?.refusalReason, "nothing_to_fill");
  assert.deepEqual(fake.calls, []);
  fake.willFail("UNAVAILABLE");
  const decisions = await fake.batchLookup([{ descriptor: hello("a") }, { descriptor: hello("b") }]);
  assert.deepEqual(
    decisions.map(({ bypassReason }) => bypassReason),
    Array(2).fill("sidecar_unreachable"),
  );
});

test("a batch of Stores keeps its order", async () => {
  const fake = patient();
  const bypassed = await fake.lookup(openAIChat({}, gpt4o, {}));
  const requests: StoreRequest[] = [
    { source: hello("a"), response: paris() },
    { source: bypassed, response: paris() },
    { source: hello("b"), response: { ...paris(), body: "" } },
    { source: Buffer.from("unknown"), response: paris() },
  ];
  const results = await fake.batchStore(requests);
  assert.deepEqual(
    results.map(({ refusalReason }) => refusalReason),
    [undefined, "nothing_to_fill", "empty", "token_expired"],
  );
});

test("the server's rules say which never wait", async () => {
  const fake = patient();
  const rule = { id: "plain", mode: "serve", scope: ["tenant"], ttlMs: 3_600_000 };
  fake.setRules(
    { ...rule, strategy: ["exact"] },
    { ...rule, strategy: ["exact", "semantic"] },
    { ...rule, strategy: ["unknown"] },
  );
  const info = await fake.serverInfo();
  assert.equal(info.keySchema, "askonce/1");
  assert.ok(info.storeServing && info.rules[0]?.ttlMs === 3_600_000);
  assert.deepEqual(info.rules.map(isDeterministic), [true, false, false]);
  fake.close();
  await assert.rejects(fake.serverInfo(), { kind: "closed" });
});

test("a fake does as it is told", async () => {
  const fake = patient();
  fake.willHit("body", "text/plain");
  fake.willMiss();
  fake.willBypass("over_budget");
  fake.willRefuse("store_full");
  const hit = await fake.lookup(hello("a"));
  assert.ok(hit.hit && text(hit.body) === "body" && hit.contentType === "text/plain");
  const missed = await fake.lookup(hello("a"));
  assert.equal(missed.outcome, "miss");
  assert.equal((await fake.lookup(hello("a"))).bypassReason, "over_budget");
  assert.equal((await fake.store(missed, paris())).refusalReason, "store_full");
  assert.throws(() => fake.willBypass("circuit_open"), RangeError);
  await sleep(0);
});
