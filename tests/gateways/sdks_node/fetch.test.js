// Asks the fake provider through the example's fetch, with a real sidecar. It is started by test_sdks_node.py.

import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";

import { cached } from "./cached.js";

const { PROVIDER_URL, SIDECAR, SIDECAR_PID } = process.env;
const { cache, fetch: fetched } = cached(SIDECAR);
after(() => cache.close());

async function provider(method, path, body) {
  const answer = await fetch(PROVIDER_URL + path, { method, body: body && JSON.stringify(body) });
  return answer.json();
}

const calls = async () => (await provider("GET", "/calls")).length;

beforeEach(async () => {
  await provider("POST", "/control", {});
  await provider("DELETE", "/calls");
});

/** Asks, and returns all that a caller sees. */
async function ask(text, members = {}, init = {}, through = fetched) {
  const body = JSON.stringify({ model: "gpt-4o", messages: [{ role: "user", content: text }], ...members });
  const headers = { "content-type": "application/json" };
  const answer = await through(`${PROVIDER_URL}/v1/chat/completions`, { method: "POST", headers, body, ...init });
  const said = { status: answer.status, type: answer.headers.get("content-type"), body: await answer.text() };
  return { said, cache: answer.headers.get("cache-status") };
}

for (const stream of [false, true]) {
  const what = stream ? "stream" : "document";

  test(`the second of two identical calls for a ${what} is a hit`, async () => {
    const first = await ask("hi", { stream });
    assert.equal(first.cache, "askonce; fwd=miss");
    assert.equal(first.said.type, stream ? "text/event-stream" : "application/json");
    const again = await ask("hi", { stream });
    assert.deepEqual(again.said, first.said);
    assert.match(again.cache, /^askonce; (hit|fwd=miss; collapsed)/); // the latter while it is being stored
    assert.equal(await calls(), 1);
  });

  test(`many at once call the provider once for a ${what}`, async () => {
    await provider("POST", "/control", { latency: 0.2 });
    const all = await Promise.all(Array.from({ length: 50 }, () => ask("at once", { stream })));
    for (const { said } of all) assert.deepEqual(said, all[0].said);
    assert.equal(await calls(), 1);
  });

  test(`a ${what} that breaks off, or was cut short, is not stored`, async () => {
    await provider("POST", "/control", { cut_after: 2 });
    await assert.rejects(ask("broken", { stream }), TypeError);
    await provider("POST", "/control", { finish: "length" });
    await ask("broken", { stream });
    await provider("POST", "/control", {});
    const whole = await ask("broken", { stream });
    assert.deepEqual((await ask("broken", { stream })).said, whole.said);
    assert.equal(await calls(), 3);
  });

  test(`a caller that aborts gets no ${what}, and none is stored`, async () => {
    await provider("POST", "/control", stream ? { pace: 60 } : { latency: 60 });
    const caller = new AbortController();
    const refused = assert.rejects(ask("left", { stream }, { signal: caller.signal }), { name: "AbortError" });
    while ((await calls()) === 0);
    caller.abort();
    await refused;
    await provider("POST", "/control", {});
    const whole = await ask("left", { stream });
    assert.deepEqual((await ask("left", { stream })).said, whole.said);
    assert.equal(await calls(), 2);
  });
}

test("a sidecar that hangs, or is not there, costs its budget and is no error", async () => {
  const hasty = cached(SIDECAR, { budgetMs: 50 });
  const alone = cached("unix:///nowhere");
  process.kill(SIDECAR_PID, "SIGSTOP");
  try {
    for (const { fetch: through } of [hasty, alone]) {
      const asked = () => ask("outage", {}, {}, through);
      while (!(await asked()).cache.includes("bypass")); // it goes on for a moment
      const before = await calls();
      for (let call = 0; call < 10; call++) {
        const { said, cache } = await asked();
        assert.deepEqual([said.status, said.body.includes("outage")], [200, true]);
        assert.match(cache, /^askonce; fwd=bypass; detail=(sidecar_timeout|sidecar_unreachable|circuit_open)$/);
      }
      assert.equal(await calls(), before + 10);
    }
  } finally {
    process.kill(SIDECAR_PID, "SIGCONT");
    for (const { cache } of [hasty, alone]) cache.close();
  }
});
