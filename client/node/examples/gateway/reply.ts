import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

import type { Decision, Hit } from "askonce";
import { type Api, frames, isStream, toDocument, toEvents } from "askonce/streams";

import type { Asked } from "./request.js";

/** Says in headers what the cache decided. */
export function describeDecision(reply: ServerResponse, decision: Decision): void {
  const set = (name: string, value: string | undefined) => {
    if (value) reply.setHeader(name, value);
  };
  set("cache-status", decision.cacheStatus);
  set("x-askonce-cache-kind", decision.kind);
  set("x-askonce-cache-reason", decision.denyReason ?? decision.bypassReason);
  const { candidate } = decision;
  if (candidate === undefined) return;
  set("x-askonce-cache-entry", candidate.entryId);
  if (decision.hit) {
    set("age", String(Math.floor(candidate.ageMs / 1000)));
    set("x-askonce-cache-verified", String(candidate.verified));
  }
  if (candidate.similarity !== undefined && candidate.threshold !== undefined) {
    set("x-askonce-cache-similarity", candidate.similarity.toFixed(4));
    set("x-askonce-cache-threshold", candidate.threshold.toFixed(4));
  }
}

/**
 * Serves a hit, in the shape that the caller asked for. Returns false, having sent nothing, where the stored answer
 * cannot be given in that shape without loss.
 */
export async function replyFromCache(
  reply: ServerResponse,
  hit: Hit,
  asked: Asked,
  api: Api | undefined,
  pauseMs: number,
): Promise<boolean> {
  const turned = inShape(hit, asked, api);
  if (turned === undefined) return false; // the provider can do better
  describeDecision(reply, hit);
  reply.writeHead(200, { "content-type": turned.contentType });
  if (!asked.stream) {
    reply.end(turned.body);
    return true;
  }
  for (const [number, frame] of frames(turned.body).entries()) {
    if (pauseMs > 0 && number > 0) await sleep(pauseMs);
    if (reply.destroyed) return true; // the caller has gone
    reply.write(frame);
  }
  reply.end();
  return true;
}

/** Returns the stored answer in the shape that the caller asked for; undefined where that loses something. */
function inShape({ body, contentType }: Hit, asked: Asked, api: Api | undefined) {
  const stored = isStream(body);
  if (asked.stream === stored) return { body, contentType };
  if (api === undefined) return undefined;
  try {
    if (stored) return { body: toDocument(api, body), contentType: "application/json" };
    const includeUsage = wantsUsage(asked);
    return { body: toEvents(api, body, { includeUsage }), contentType: "text/event-stream" };
  } catch {
    return undefined;
  }
}

/** Says whether the caller asked for the usage at the end of a chat's stream. */
function wantsUsage({ body }: Asked): boolean {
  const options = JSON.parse(body.get("stream_options") ?? "null") as { include_usage?: unknown } | null;
  return options?.include_usage === true;
}
