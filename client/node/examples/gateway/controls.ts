import type { IncomingHttpHeaders } from "node:http";

import type { CacheMode, Controls } from "askonce";

import { malformed } from "./refusal.js";

const modes: Record<string, CacheMode> = {
  default: "default",
  bypass: "bypass",
  refresh: "refresh",
  "read-only": "read_only",
};
const MOST_SECONDS = 2 ** 32 - 1;

/** What a caller asks of the cache: times in seconds. It is also the shape of the top-level `cache` object of a body. */
interface Asked {
  mode?: unknown;
  ttl?: unknown;
  namespace?: unknown;
  max_age?: unknown;
  min_fresh?: unknown;
  max_stale?: unknown;
}

const names = ["mode", "ttl", "namespace", "max_age", "min_fresh", "max_stale"];

/** Reads what a caller asks: in headers and, field by field instead of them, in its `cache` object. */
export function controlsOf(headers: IncomingHttpHeaders, cache: string | undefined): Controls {
  const asked: Asked = { ...readHeaders(headers), ...readObject(cache) };
  const { mode = "default", namespace = "" } = asked;
  if (typeof namespace !== "string") throw malformed("the namespace must be text");
  if (typeof mode !== "string" || !Object.hasOwn(modes, mode)) {
    throw malformed("the cache mode must be bypass, refresh, read-only or default");
  }
  if (asked.ttl === 0) throw malformed("the ttl must be above 0");
  return {
    mode: modes[mode],
    namespace,
    ttlMs: milliseconds("ttl", asked.ttl),
    maxAgeMs: milliseconds("max_age", asked.max_age),
    minFreshMs: milliseconds("min_fresh", asked.min_fresh) || undefined,
    maxStaleMs: milliseconds("max_stale", asked.max_stale),
  };
}

function readObject(cache: string | undefined): Asked {
  const said = JSON.parse(cache ?? "null") as Asked | null;
  if (said === null) return {};
  const known = typeof said === "object" && Object.keys(said).every((name) => names.includes(name));
  if (!known || Array.isArray(said)) throw malformed(`cache must be an object of ${names.join(", ")}`);
  return Object.fromEntries(Object.entries(said).filter(([, value]) => value !== null));
}

function milliseconds(name: string, seconds: unknown): number | undefined {
  if (seconds === undefined) return undefined;
  if (typeof seconds !== "number" || !Number.isInteger(seconds) || seconds < 0 || seconds > MOST_SECONDS) {
    throw malformed(`${name} must be a whole number of seconds`);
  }
  return seconds * 1000;
}

function readHeaders(headers: IncomingHttpHeaders): Asked {
  const asked = readCacheControl(headers["cache-control"] ?? "");
  const said = (name: string) => String(headers[name] ?? "");
  if (said("x-askonce-cache")) asked.mode = said("x-askonce-cache");
  if (said("x-askonce-cache-namespace")) asked.namespace = said("x-askonce-cache-namespace");
  if (said("x-askonce-cache-ttl")) asked.ttl = secondsOf(said("x-askonce-cache-ttl"));
  return asked;
}

/**
 * Reads the directives of a request (RFC 9111, section 5.2.1). Those that it does not know say nothing, as the RFC has
 * it.
 */
function readCacheControl(value: string): Asked {
  const directives = new Map<string, string>();
  for (const directive of value.toLowerCase().split(",")) {
    const [name = "", argument = ""] = directive.trim().split("=", 2);
    directives.set(name, argument);
  }
  const asked: Asked = {};
  for (const [name, member] of [
    ["max-age", "max_age"],
    ["min-fresh", "min_fresh"],
    ["max-stale", "max_stale"],
  ] as const) {
    if (!directives.has(name)) continue;
    const argument = directives.get(name) ?? "";
    // Without one, max-stale means any: as far as the rule goes, which is the rule's to say.
    if (argument || name !== "max-stale") asked[member] = secondsOf(argument);
  }
  const noStore = directives.has("no-store");
  const noCache = directives.has("no-cache");
  if (noStore || noCache) asked.mode = noStore && noCache ? "bypass" : noStore ? "read-only" : "refresh";
  return asked;
}

/** Returns a header's number; NaN, which is no number of seconds, for anything else. */
function secondsOf(text: string): number {
  const [, digits] = /^"?(\d{1,10})"?$/.exec(text) ?? [];
  return digits === undefined ? NaN : Number(digits);
}
