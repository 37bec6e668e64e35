import assert from "node:assert/strict";
import { createServer, type Server, type Socket } from "node:net";
import { type AddressInfo } from "node:net";
import { createRequire } from "node:module";
import { test } from "node:test";

import * as askonce from "askonce";
import { AskOnce } from "askonce";

import { hello, paris, quiet, text, until } from "./requests.js";
import { noSidecar, Sidecar } from "./sidecar.js";

const forgiving = { log: quiet, budgetMs: 90_000, storeTimeoutMs: 90_000 };

async function listening(onConnection: (socket: Socket) => void): Promise<[Server, string]> {
  const server = createServer(onConnection);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return [server, `127.0.0.1:${(server.address() as AddressInfo).port}`];
}

test("nobody listens", async () => {
  for (const target of ["127.0.0.1:1", "unix:///nowhere/askonce.sock"]) {
    const client = new AskOnce(target, { log: quiet, budgetMs: 10_000 });
    assert.equal((await client.lookup(hello("hi"))).bypassReason, "sidecar_unreachable");
    client.close();
  }
});

test("somebody listens and says nothing", async () => {
  const sockets: Socket[] = [];
  const [server, target] = await listening((socket) => sockets.push(socket));
  const client = new AskOnce(target, { log: quiet, budgetMs: 50 });
  assert.equal((await client.lookup(hello("hi"))).bypassReason, "sidecar_timeout");
  client.close();
  for (const socket of sockets) socket.destroy();
  server.close();
});

test("somebody listens who speaks another language", async () => {
  const [server, target] = await listening((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
  const client = new AskOnce(target, { log: quiet, budgetMs: 5_000 });
  const decision = await client.lookup(hello("hi"));
  assert.equal(decision.outcome, "bypass");
  assert.ok(decision.error);
  client.close();
  server.close();
});

test("a sidecar that is killed, restarted and stopped costs no request", { skip: noSidecar }, async () => {
  const lines: string[] = [];
  const log = { info: (line: string) => lines.push(line), warn: (line: string) => lines.push(line) };
  const sidecar = await new Sidecar().run();
  const hasty = new AskOnce(sidecar.target, {
    log,
    budgetMs: 200,
    breaker: { backoffMs: 50, maxBackoffMs: 100 },
  });
  const patient = new AskOnce(sidecar.target, forgiving);
  try {
    const missed = await patient.lookup(hello("hi"));
    assert.ok((await patient.store(missed, paris())).stored);
    await sidecar.kill();
    for (let call = 0; call < 20; call++) assert.equal((await hasty.lookup(hello("hi"))).outcome, "bypass");
    assert.notEqual(hasty.breakerState, "closed");
    await sidecar.run();
    await until(() => (void hasty.lookup(hello("hi")), hasty.breakerState === "closed"));
    const found = await patient.lookup(hello("hi")); // what was acknowledged is kept
    assert.ok(found.hit && text(found.body) === paris().body);
    sidecar.signal("SIGSTOP");
    while ((await hasty.lookup(hello("hi"))).hit); // it goes on for a moment
    for (let call = 0; call < 6; call++) assert.equal((await hasty.lookup(hello("hi"))).outcome, "bypass");
    sidecar.signal("SIGCONT");
    await until(() => (void hasty.lookup(hello("hi")), hasty.breakerState === "closed"));
    assert.ok(lines.length < 100 && lines.some((line) => line.includes("circuit open")));
  } finally {
    hasty.close();
    patient.close();
    await sidecar.remove();
  }
});

test("a real sidecar's verbs and the details of its errors", { skip: noSidecar }, async () => {
  const sidecar = await new Sidecar([{ id: "one", scope: ["tenant"], coalesce: { lease: "30s" } }]).run();
  const client = new AskOnce(sidecar.target, { ...forgiving, channels: 2 });
  try {
    const wrong = await client.lookup({ ...hello("hi"), dialect: "" });
    assert.equal(wrong.error?.kind, "invalid_request");
    assert.deepEqual(
      wrong.error?.violations.map(({ field }) => field),
      ["descriptor.dialect", "descriptor.body_json"],
    );
    assert.notEqual(wrong.error?.reason, "");
    const held = await client.lookup(hello("hi"));
    assert.ok(held.leaseHolder);
    assert.ok((await client.abandon(held)).released);
    const [first, second] = await client.batchLookup([
      { descriptor: hello("a") },
      { descriptor: hello("a") },
    ]);
    assert.equal(second?.sameAs, 0);
    const [stored] = await client.batchStore([{ source: first as askonce.Decision, response: paris() }]);
    assert.ok(stored?.stored && stored.expireTime instanceof Date);
    const found = await client.lookup(hello("a"));
    assert.ok(found.hit, `${found.bypassReason} ${found.denyReason} ${found.error?.message}`);
    assert.ok(found.candidate.ageMs >= 0);
    assert.ok(found.candidate.ttlLeftMs > 0);
    assert.equal((await client.serverInfo()).rules[0]?.id, "one");
  } finally {
    client.close();
    await sidecar.remove();
  }
});

test(
  "Lookups at once go out together to a real sidecar, and each is given its own",
  { skip: noSidecar },
  async () => {
    const sidecar = await new Sidecar().run();
    const client = new AskOnce(sidecar.target, forgiving);
    try {
      const texts = Array.from({ length: 60 }, (_, at) => String(at));
      for (let round = 0; round < 2; round++) {
        const claims = await Promise.all(texts.map((said) => client.lookup(hello(said))));
        const answers = claims.map((source, at) => ({
          source,
          response: { ...paris(), body: `{"a":${at}}` },
        }));
        if (round === 0) {
          const stored = await Promise.all(
            answers.map(({ source, response }) => client.store(source, response)),
          );
          assert.deepEqual(stored.map(({ refusalReason }) => refusalReason).filter(Boolean), []);
        } else {
          const found = claims.map((claim) => (claim.hit ? text(claim.body) : claim.bypassReason));
          assert.deepEqual(
            found,
            answers.map(({ response }) => response.body),
          );
        }
      }
    } finally {
      client.close();
      await sidecar.remove();
    }
  },
);

test("the package has the same names for import and for require", () => {
  const required = createRequire(import.meta.url)("askonce") as typeof askonce;
  assert.deepEqual(Object.keys(required).sort(), Object.keys(askonce).sort());
  assert.notEqual(required.AskOnce, askonce.AskOnce);
  new required.AskOnce("127.0.0.1:1").close();
});
