import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, beforeEach, test } from "node:test";

import type { FakeAskOnce } from "askonce/testing";

import { cachingFetch } from "../examples/fetch.js";
import { acme, patient, text, until } from "./requests.js";

type Answer = (reply: ServerResponse, call: number) => void;

const json = { "content-type": "application/json" };
const event = (data: string) => `data: ${data}\n\n`;
const last = event('{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}') + event("[DONE]");

let server: Server;
let url: string;
let calls = 0;
let asked: string[] = [];
let answer: Answer;

/** A document that says which call it answers. */
const document: Answer = (reply, call) => {
  reply.writeHead(200, json);
  reply.end(`{"call":${call},"choices":[{"finish_reason":"stop","message":{"content":"Paris."}}]}`);
};

async function provide(request: IncomingMessage, reply: ServerResponse): Promise<void> {
  asked.push(Buffer.concat(await request.toArray()).toString());
  answer(reply, ++calls);
}

before(async () => {
  server = createServer((request, reply) => void provide(request, reply));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/chat/completions`;
});

beforeEach(() => {
  [calls, asked, answer] = [0, [], document];
});

after(() => {
  server.closeAllConnections();
  server.close();
});

function ask(said: string, members: object = {}): RequestInit {
  const messages = [{ role: "user", content: said }];
  return {
    method: "POST",
    headers: json,
    body: JSON.stringify({ model: "gpt-4o", temperature: 0, messages, ...members }),
  };
}

/** Returns the fake and a fetch before it. */
function cached(fake: FakeAskOnce = patient()): [FakeAskOnce, typeof fetch] {
  return [fake, cachingFetch(fake, acme)];
}

test("the second of two identical calls is answered from the cache", async () => {
  const [fake, fetched] = cached();
  const first = await fetched(url, ask("hi"));
  assert.equal(first.headers.get("cache-status"), "askonce; fwd=miss");
  const said = await first.text();
  for (const input of [url, new URL(url), new Request(url, ask("hi"))]) {
    const again = await fetched(input, input instanceof Request ? undefined : ask("hi"));
    assert.deepEqual([again.status, again.headers.get("content-type")], [200, "application/json"]);
    assert.match(again.headers.get("cache-status") ?? "", /hit|collapsed/);
    assert.equal(await again.text(), said);
  }
  assert.equal(calls, 1);
  assert.notEqual(await (await fetched(url, ask("another"))).text(), said);
  assert.equal(fake.lookups[0]?.descriptor?.served?.provider, new URL(url).host);
});

test("a stream is handed on while it comes, and is replayed as it came", async () => {
  const [fake, fetched] = cached();
  let release: () => void = () => undefined;
  answer = (reply) => {
    reply.writeHead(200, { "content-type": "text/event-stream" }).write(event('{"choices":[]}'));
    release = () => reply.end(last);
  };
  const first = await fetched(url, ask("hi", { stream: true }));
  const reader = (first.body as ReadableStream<Uint8Array>).getReader();
  let said = text((await reader.read()).value as Uint8Array);
  assert.equal(said, event('{"choices":[]}'), "the provider has not ended yet");
  release();
  for (let read = await reader.read(); !read.done; read = await reader.read()) said += text(read.value);
  const again = await fetched(url, ask("hi", { stream: true }));
  assert.equal(await again.text(), said);
  assert.equal(again.headers.get("content-type"), "text/event-stream");
  assert.deepEqual([calls, fake.stores.length], [1, 1]);
});

test("what the cache has no say in passes as it is", async () => {
  const fake = patient();
  const seen: unknown[][] = [];
  const answered = new Response("as it is");
  const fetched = cachingFetch(fake, acme, (...given) => {
    seen.push(given);
    return Promise.resolve(answered);
  });
  const form = new FormData();
  for (const given of [
    [url],
    [url, { method: "GET" }],
    [new URL("/v1/models", url)],
    [url.replace("/v1/", "/v2/"), ask("hi")],
    [`${url}?api-version=1`, ask("hi")],
    ["relative", ask("hi")],
    [url, { method: "POST", body: form }],
    [url, { ...ask("hi"), body: new Blob(["{}"]).stream(), duplex: "half" }],
    [url, { ...ask("hi"), body: "no JSON" }],
    [url, { ...ask("hi"), body: '{"model":7}' }],
    [url, { ...ask("hi"), cache: "no-store" }],
    [new Request(url, ask("hi")), { body: form }],
  ] as [string, RequestInit?][]) {
    assert.equal(await fetched(...given), answered);
    const [input, init] = seen.pop() ?? [];
    assert.ok(input === given[0] && init === given[1]);
  }
  assert.deepEqual(fake.calls, []);
});

test("what a caller changes once it has asked is neither sent nor stored", async () => {
  const [, fetched] = cached();
  const body = Buffer.from(ask("mine").body as string);
  const init: RequestInit = { ...ask("mine"), body };
  const asking = fetched(url, init);
  body.fill(0x20);
  init.body = ask("theirs").body ?? null;
  const said = await (await asking).text();
  assert.deepEqual(asked, [ask("mine").body]);
  assert.equal(await (await fetched(url, ask("mine"))).text(), said);
  assert.notEqual(await (await fetched(url, ask("theirs"))).text(), said);
});

test("headers that change answers are keyed", async () => {
  const [fake, fetched] = cached();
  const headers = { ...json, "Anthropic-Beta": "more", authorization: "Bearer secret", "x-other": "1" };
  await (await fetched(url.replace("chat/completions", "messages"), { ...ask("hi"), headers })).text();
  assert.deepEqual(fake.lookups[0]?.descriptor?.headers, { "anthropic-beta": "more" });
  assert.equal(fake.lookups[0]?.descriptor?.dialect, "anthropic");
});

test("a sidecar that fails is no error", async () => {
  const [fake, fetched] = cached();
  for (let call = 1; call <= 20; call++) {
    fake.willFail("UNAVAILABLE");
    const reply = await fetched(url, ask("hi"));
    assert.match(await reply.text(), new RegExp(`"call":${call},`));
    assert.match(
      reply.headers.get("cache-status") ?? "",
      /fwd=bypass; detail=(sidecar_unreachable|circuit_open)/,
    );
  }
  assert.equal(fake.stores.length, 0);
});

test("a provider's failure is the caller's, and the next one asks again", async () => {
  const [fake, fetched] = cached();
  answer = (reply) => reply.destroy();
  await assert.rejects(fetched(url, ask("hi")), { name: "TypeError", message: "fetch failed" });
  answer = (reply) => reply.writeHead(500, json).end('{"error":{}}');
  const failed = await fetched(url, ask("hi"));
  assert.deepEqual([failed.status, failed.ok, await failed.text()], [500, false, '{"error":{}}']);
  answer = (reply) => reply.writeHead(200, json).write('{"choices":', () => reply.destroy());
  await assert.rejects((await fetched(url, ask("hi"))).text());
  answer = (reply) => reply.writeHead(204).end();
  assert.equal((await fetched(url, ask("hi"))).status, 204);
  answer = document;
  assert.match(await (await fetched(url, ask("hi"))).text(), /"call":5,/);
  await until(() => fake.stores.length === 2); // the 500, which the sidecar refuses, and the last
});

test("a caller's signal ends the call like that of fetch, and the next one asks again", async () => {
  const [fake, fetched] = cached();
  await assert.rejects(fetched(url, { ...ask("hi"), signal: AbortSignal.abort() }), { name: "AbortError" });
  assert.equal(calls, 0);
  let closed = 0;
  for (const headersSent of [false, true]) {
    const caller = new AbortController();
    answer = (reply) => {
      reply.once("close", () => closed++);
      if (headersSent) reply.writeHead(200, json).write('{"choices":');
    };
    const asking = fetched(url, { ...ask("hi"), signal: caller.signal }).then((reply) => reply.text());
    const ended = assert.rejects(asking, { name: "AbortError" });
    await until(() => calls === (headersSent ? 2 : 1));
    if (headersSent) await new Promise(setImmediate);
    caller.abort();
    await ended;
  }
  await until(() => closed === 2);
  answer = document;
  assert.match(await (await fetched(url, ask("hi"))).text(), /"call":3,/);
  await until(() => fake.stores.length === 1);
});

for (const [when, sent, stores] of [
  ["at a stream's last event", last, 1],
  ["in the middle of a stream", event('{"choices":[]}'), 0],
] as const) {
  test(`a caller that leaves ${when} leaves ${stores ? "the" : "no"} answer behind`, async () => {
    const [fake, fetched] = cached();
    let closed = false;
    answer = (reply) => {
      reply.once("close", () => (closed = true));
      reply.writeHead(200, { "content-type": "text/event-stream" }).write(sent);
    };
    const reader = ((await fetched(url, ask("hi", { stream: true }))).body as ReadableStream).getReader();
    await reader.read();
    await reader.cancel();
    await until(() => closed && fake.stores.length >= stores); // the provider does not go on for nobody
    assert.equal(fake.stores.length, stores);
    await (await fetched(url, ask("hi", { stream: true }))).body?.cancel();
    assert.equal(calls, 2 - stores);
  });
}

test("an answer that nobody reads is stored, and holds nobody up", async () => {
  const [, fetched] = cached();
  const choice = { finish_reason: "stop", message: { content: "x".repeat(2 << 20) } };
  answer = (reply) => reply.writeHead(200, json).end(JSON.stringify({ choices: [choice] }));
  const unread = await fetched(url, ask("hi"));
  const again = await fetched(url, ask("hi"));
  assert.match(again.headers.get("cache-status") ?? "", /hit|collapsed/);
  assert.equal(await again.text(), await unread.text());
  assert.equal(calls, 1);
});

test("an answer that is too large to be kept is handed on whole", async () => {
  const [fake, fetched] = cached();
  const large = JSON.stringify({ choices: [], padding: "x".repeat(9 << 20) });
  answer = (reply) => reply.writeHead(200, json).end(large);
  assert.equal(await (await fetched(url, ask("hi"))).text(), large);
  assert.equal(await (await fetched(url, ask("hi"))).text(), large);
  assert.deepEqual([calls, fake.stores.length], [2, 0]);
});
