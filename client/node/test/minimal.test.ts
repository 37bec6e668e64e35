import assert from "node:assert/strict";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";

import { answer } from "../examples/minimal.js";
import { patient } from "./requests.js";

async function serving(listener: RequestListener): Promise<[Server, string]> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return [server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`];
}

test("the minimal gateway answers from the cache, each tenant from its own", async () => {
  let calls = 0;
  let breaksOff = true;
  const [provider, url] = await serving((_, reply) => {
    calls++;
    reply.setHeader("content-type", "application/json");
    reply.write(`{"number":${calls},"choices":[{"finish_reason":"stop","message":{"content":"Paris."}}`);
    if (breaksOff) reply.destroy();
    else reply.end("]}");
  });
  Object.assign(process.env, { UPSTREAM: url, UPSTREAM_KEY: "real" });
  const fake = patient();
  const [gateway, asked] = await serving((request, reply) => {
    answer(request, reply, fake).catch(() => reply.destroy());
  });
  const body = JSON.stringify({ model: "gpt-4o", temperature: 0, messages: [] });
  const ask = async (key: string) => {
    const reply = await fetch(asked, { method: "POST", body, headers: { authorization: `Bearer ${key}` } });
    return { status: reply.status, said: await reply.text(), cache: reply.headers.get("cache-status") };
  };
  try {
    await assert.rejects(ask("sk-acme"));
    breaksOff = false;
    const first = await ask("sk-acme");
    assert.equal(first.cache, "askonce; fwd=miss");
    const second = await ask("sk-acme");
    assert.equal(second.said, first.said);
    assert.match(second.cache ?? "", /hit|collapsed/);
    assert.equal(calls, 2, "what broke off was not stored");
    assert.notEqual((await ask("sk-globex")).said, first.said);
    assert.equal((await ask("sk-nobody")).status, 401);
  } finally {
    for (const server of [gateway, provider]) {
      server.closeAllConnections();
      server.close();
    }
    fake.close();
  }
});
