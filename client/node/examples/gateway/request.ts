import type { IncomingMessage } from "node:http";

import { parseObject, type RawObject, writeObject } from "askonce/streams";
import type { Controls } from "askonce";

import type { Config, Route } from "./config.js";
import { controlsOf } from "./controls.js";
import { malformed, Refusal } from "./refusal.js";

const MOST_REQUEST_BYTES = 8 * 2 ** 20;

/** What a caller asks for: the members of its body as they are spelt, and what the gateway reads off them. */
export interface Asked {
  body: RawObject;
  stream: boolean;
  routes: [Route, ...Route[]];
  controls: Controls;
}

/** Returns the tenant that the caller's key belongs to. */
export function authenticate({ headers }: IncomingMessage, { keys }: Config): string {
  const [, token] = /^Bearer (.*)$/.exec(headers.authorization ?? "") ?? [];
  const key = token ?? String(headers["x-api-key"] ?? "");
  const tenant = Object.hasOwn(keys, key) ? keys[key] : undefined;
  if (!tenant) throw new Refusal(401, "there is no such API key");
  return tenant;
}

/** Reads a request and where it goes. */
export async function readRequest(request: IncomingMessage, config: Config, dialect: string): Promise<Asked> {
  const body = parseObject(await textOf(request));
  if (body === undefined) throw malformed("the body is no JSON object");
  const model: unknown = JSON.parse(body.get("model") ?? "null");
  if (typeof model !== "string") throw malformed("model must be a string");
  const stream: unknown = JSON.parse(body.get("stream") ?? "false") ?? false;
  if (typeof stream !== "boolean") throw malformed("stream must be a boolean");
  const all = Object.hasOwn(config.routes, model) ? config.routes[model] : undefined;
  const [first, ...others] = (all ?? []).filter(
    ({ provider }) => config.providers[provider]?.dialect === dialect,
  );
  if (first === undefined) throw new Refusal(404, `there is no model ${JSON.stringify(model)} here`);
  const controls = controlsOf(request.headers, body.get("cache"));
  body.delete("cache"); // it is the gateway's, not the provider's
  return { body, stream, routes: [first, ...others], controls };
}

/** Returns the body that a target is sent: the caller's, with the target's model. */
export function bodyFor({ body }: Asked, { model }: Route): string {
  return writeObject(new Map([...body, ["model", JSON.stringify(model)]]));
}

async function textOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > MOST_REQUEST_BYTES) throw new Refusal(413, "the request is too large");
    pieces.push(piece);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(pieces));
  } catch {
    throw malformed("the body is no UTF-8");
  }
}
