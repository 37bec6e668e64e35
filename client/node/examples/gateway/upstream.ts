import { once } from "node:events";
import type { IncomingHttpHeaders, ServerResponse } from "node:http";

import type { Config, Route } from "./config.js";
import { type Asked, bodyFor } from "./request.js";

/** How much of an answer is kept to be stored; the sidecar's own limit is `admission.max_body`. */
const MOST_ANSWER_BYTES = 4 * 2 ** 20;

/** Headers that are forwarded, and change answers. */
export const keyedHeaders = ["anthropic-beta", "anthropic-version", "openai-beta"];

/** Headers that go to the provider; the caller's key does not. */
const forwardedHeaders = ["content-type", "accept", "user-agent", ...keyedHeaders];

/**
 * Headers of an answer that are not handed on: they belong to the connection with the provider, or are the gateway's.
 */
const keptHeaders = [
  "connection",
  "content-encoding",
  "content-length",
  "keep-alive",
  "set-cookie",
  "transfer-encoding",
  "x-request-id",
];

/**
 * Calls the targets of the route, one after the other while they fail, and returns the first answer that is not the
 * provider's own failure, or the last one's. Rejects when no provider can be reached.
 */
export async function callUpstream(
  config: Config,
  asked: Asked,
  path: string,
  headers: IncomingHttpHeaders,
  signal: AbortSignal,
): Promise<{ answer: Response; route: Route }> {
  let failed: unknown;
  for (const [position, route] of asked.routes.entries()) {
    const isLast = position === asked.routes.length - 1;
    try {
      const answer = await callTarget(config, asked, route, path, headers, signal);
      if (isLast || !fails(answer.status)) return { answer, route };
      await answer.body?.cancel();
    } catch (thrown) {
      failed = thrown;
      if (signal.aborted) break; // the caller has gone
    }
  }
  throw failed;
}

function fails(status: number): boolean {
  return status >= 500 || status === 429;
}

function callTarget(
  config: Config,
  asked: Asked,
  route: Route,
  path: string,
  given: IncomingHttpHeaders,
  signal: AbortSignal,
): Promise<Response> {
  const provider = config.providers[route.provider];
  if (provider === undefined) throw new Error("readConfig checks that");
  const headers = new Headers({ "accept-encoding": "identity" });
  for (const name of forwardedHeaders) {
    const value = given[name];
    if (value !== undefined) headers.set(name, String(value));
  }
  const key = process.env[provider.key_env] ?? "";
  if (provider.dialect === "anthropic") headers.set("x-api-key", key);
  else headers.set("authorization", `Bearer ${key}`);
  const body = bodyFor(asked, route);
  // The caller's signal goes along: when the caller goes, so does the call.
  return fetch(provider.url + path, { method: "POST", headers, body, signal, redirect: "manual" });
}

/** An answer as far as it was handed on. */
export interface Teed {
  /** Undefined when it is too large to be kept. */
  kept: Uint8Array | undefined;
  /** Why it ended early: the provider broke off, or the caller has gone. */
  brokeOff: unknown;
}

/** Hands an answer on while it comes. It leaves the last word, `end`, to its caller. */
export async function tee(answer: Response, reply: ServerResponse, signal: AbortSignal): Promise<Teed> {
  for (const [name, value] of answer.headers) if (!keptHeaders.includes(name)) reply.setHeader(name, value);
  reply.writeHead(answer.status);
  reply.flushHeaders();
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  let brokeOff: unknown;
  try {
    for await (const piece of (answer.body ?? []) as AsyncIterable<Uint8Array>) {
      bytes += piece.length;
      if (bytes <= MOST_ANSWER_BYTES) pieces.push(piece);
      if (!reply.write(piece)) await once(reply, "drain", { signal });
    }
    signal.throwIfAborted();
  } catch (thrown) {
    brokeOff = thrown;
  }
  return { kept: bytes <= MOST_ANSWER_BYTES ? Buffer.concat(pieces) : undefined, brokeOff };
}
