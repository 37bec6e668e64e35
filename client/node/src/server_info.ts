import { create, toBinary } from "@bufbuild/protobuf";

import type { Caller } from "./caller.js";
import { milliseconds } from "./decoding.js";
import { type MatchKind, matchKinds, nameOf } from "./enums.js";
import {
  AdminService,
  GetServerInfoRequestSchema,
  type RuleSummary as RuleMessage,
} from "./gen/askonce/v1/admin_service_pb.js";
import type { CallOptions } from "./request.js";

/** Describes a rule of the sidecar. */
export interface RuleSummary {
  id: string;
  /** off, shadow or serve. */
  mode: string;
  /** The matchers in the order in which they are asked. */
  strategy: MatchKind[];
  /** The dims in order. */
  scope: string[];
  ttlMs: number;
}

/** What the sidecar is. */
export interface ServerInfo {
  version: string;
  /** Names how keys are made: they are equal between sidecars of the same one. */
  keySchema: string;
  /** In the order in which they are tried. */
  rules: RuleSummary[];
  /** Whether the store can be used. While it cannot, every Lookup is a bypass. */
  storeServing: boolean;
}

/** Says whether no decision of the rule ever waits for an embedding. */
export function isDeterministic({ strategy }: RuleSummary): boolean {
  return strategy.every((matcher) => matcher === "exact" || matcher === "normalized");
}

/** Asks the sidecar what it is. Rejects with an AskOnceError. */
export async function askServerInfo(
  caller: Caller,
  timeoutMs: number,
  options: CallOptions = {},
): Promise<ServerInfo> {
  const request = toBinary(GetServerInfoRequestSchema, create(GetServerInfoRequestSchema));
  const method = AdminService.method.getServerInfo;
  const answer = await caller.ask(method, request, { timeoutMs, signal: options.signal });
  const { version, keySchema, storeServing } = answer;
  return { version, keySchema, storeServing, rules: answer.rules.map(ruleOf) };
}

function ruleOf({ id, mode, strategy, scope, ttl }: RuleMessage): RuleSummary {
  const matchers = strategy.map((matcher) => nameOf(matchKinds, matcher) ?? "unknown");
  return { id, mode, strategy: matchers, scope, ttlMs: milliseconds(ttl) };
}
