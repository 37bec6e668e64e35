import { readFileSync } from "node:fs";

import type { Target, Usage } from "askonce";

/** The gateway's configuration; gateway.json beside this file is one. */
export interface Config {
  /** The address to listen on. */
  listen: string;
  /** Where AskOnce listens. */
  sidecar: string;
  /** How many milliseconds a Lookup may take; left out, the client's default of 50. */
  budget_ms?: number;
  /** Which tenant an API key of this gateway belongs to. */
  keys: Record<string, string>;
  /** The upstreams, by name. */
  providers: Record<string, Provider>;
  /** Where the models that callers name go: to the first target, and to the next ones while that fails. */
  routes: Record<string, Route[]>;
  /** Paces stored streams: how many milliseconds pass between two of their frames. */
  replay_pause_ms?: number;
}

/** An upstream. */
export interface Provider {
  dialect: "openai" | "anthropic";
  /** What comes before /v1. */
  url: string;
  /** The environment variable that holds the provider's API key. */
  key_env: string;
}

/** One target of a route, with its prices in US dollars per million tokens; left out: unknown. */
export interface Route {
  provider: string;
  model: string;
  input_price?: number;
  output_price?: number;
}

export function targetOf({ provider, model }: Route): Target {
  return { provider, model };
}

/** Returns what an answer cost; undefined when that is not known, which is not nothing. */
export function costOf({ input_price = 0, output_price = 0 }: Route, usage?: Usage): number | undefined {
  if (usage === undefined || (input_price === 0 && output_price === 0)) return undefined;
  return (usage.inputTokens * input_price + usage.outputTokens * output_price) / 1e6;
}

export function readConfig(path: string): Config {
  const config = JSON.parse(readFileSync(path, "utf8")) as Config;
  for (const [alias, routes] of Object.entries(config.routes)) {
    for (const { provider } of routes) {
      if (!Object.hasOwn(config.providers, provider)) {
        throw new Error(`${path}: the route "${alias}" goes to "${provider}", which is no provider`);
      }
    }
  }
  return config;
}
