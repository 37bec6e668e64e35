/** The least of a gateway with AskOnce: one API, one provider, a key per tenant. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { fileURLToPath } from "node:url";

import { AskOnce, fromOpenAIChat, openAIChat } from "askonce";

const tenants = new Map([
  ["sk-acme", "acme"],
  ["sk-globex", "globex"],
]);

/** Answers POST /v1/chat/completions from the cache or from the provider. */
export async function answer(request: IncomingMessage, reply: ServerResponse, cache: AskOnce): Promise<void> {
  const gone = new AbortController();
  reply.once("close", () => gone.abort());
  const { signal } = gone;
  const tenant = tenants.get(request.headers.authorization?.replace("Bearer ", "") ?? "");
  if (tenant === undefined) {
    reply.writeHead(401).end("no such key");
    return;
  }
  const body = Buffer.concat(await request.toArray());
  const { model } = JSON.parse(body.toString()) as { model: string };

  // Ask. Describe what leaves this gateway: the provider and the model that will be called, the body that it is sent.
  const served = { provider: "openai", model };
  const claim = await cache.claim(openAIChat(body, served, { tenant }), { signal });
  try {
    reply.setHeader("cache-status", claim.decision.cacheStatus);
    if (claim.decision.hit) {
      reply.writeHead(200, { "content-type": claim.decision.contentType }).end(claim.decision.body);
      return;
    }

    const headers = {
      "content-type": "application/json",
      authorization: `Bearer ${process.env["UPSTREAM_KEY"]}`,
    };
    const url = `${process.env["UPSTREAM"]}/v1/chat/completions`;
    const upstream = await fetch(url, { method: "POST", headers, body, signal });
    reply.writeHead(upstream.status, { "content-type": upstream.headers.get("content-type") ?? "" });
    const pieces: Uint8Array[] = [];
    for await (const piece of (upstream.body ?? []) as AsyncIterable<Uint8Array>) {
      pieces.push(piece);
      reply.write(piece);
    }

    // Store. The sidecar refuses what is not whole, so there is nothing to decide here.
    claim.storeAsync(fromOpenAIChat(upstream.status, Buffer.concat(pieces)));
    reply.end();
  } finally {
    void claim.abandon(); // whatever happens: others may wait for this answer
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const cache = new AskOnce("127.0.0.1:50051");
  createServer((request, reply) => {
    // What breaks off ends the connection; nothing is stored then.
    answer(request, reply, cache).catch(() => reply.destroy());
  }).listen(8080, "127.0.0.1");
}
