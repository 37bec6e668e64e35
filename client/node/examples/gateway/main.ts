/**
 * An LLM gateway that asks AskOnce before it calls a provider: a reverse proxy for OpenAI's and Anthropic's APIs, small
 * enough to read in one sitting and to begin your own with.
 *
 * Read gateway.ts first: it is the path of a request. config.ts says who may call and where to; request.ts reads what
 * is asked, controls.ts what callers may ask of the cache; upstream.ts calls the provider; reply.ts answers from the
 * cache.
 */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { parseArgs } from "node:util";

import { AskOnce } from "askonce";

import { readConfig } from "./config.js";
import { newGateway } from "./gateway.js";

const GRACE_MS = 30_000;
/** Node closes connections that were idle for 5 s, just when callers that pool them may send the next request. */
const KEEP_ALIVE_MS = 10 * 60_000;

const { values } = parseArgs({ options: { config: { type: "string", default: "gateway.json" } } });
const config = readConfig(values.config ?? "gateway.json");
const cache = new AskOnce(config.sidecar, { budgetMs: config.budget_ms });
const server = createServer(newGateway(config, cache));
server.keepAliveTimeout = KEEP_ALIVE_MS;
const { hostname, port } = new URL(`http://${config.listen}`);

server.listen(Number(port), hostname, () => {
  const { address, port: bound } = server.address() as AddressInfo;
  console.error(`gateway: listening on ${address}:${bound}`);
});

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    const late = setTimeout(() => server.closeAllConnections(), GRACE_MS);
    server.close(() => {
      clearTimeout(late);
      cache.close();
    });
    server.closeIdleConnections();
  });
}
