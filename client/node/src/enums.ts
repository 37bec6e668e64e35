/**
 * What a decision can say: the enums of the contract, as the lower-case names that the sidecar's telemetry uses.
 *
 * A name's position in its list is its number in askonce/v1, counted from 1. Number 0, which says nothing, reads as
 * undefined, and a number that a newer sidecar may send as "unknown".
 */

export const outcomes = ["hit", "miss", "bypass"] as const;
export const storeOutcomes = ["stored", "refused"] as const;
export const matchKinds = ["exact", "normalized", "semantic"] as const;
export const zones = ["above", "gray", "below"] as const;
export const bodyShapes = ["stream", "json"] as const;
export const cacheModes = ["default", "bypass", "refresh", "read_only"] as const;
export const verdicts = ["correct", "wrong", "stale"] as const;
export const bypassReasons = [
  "no_rule",
  "disabled",
  "caller_bypass",
  "scope_missing",
  "sampled_request",
  "remote_content",
  "stateful_request",
  "unmodelled_param",
  "unrepresentable_content",
  "personalized",
  "time_sensitive",
  "too_large",
  "whitespace_significant",
  "history_too_long",
  "no_embeddable_text",
  "text_too_long",
  "embedding_missing",
  "embedder_failed",
  "partition_loading",
  "over_budget",
  "store_failed",
  "partition_too_large",
] as const;
export const denyReasons = [
  "below_threshold",
  "gray_unverified",
  "verifier_rejected",
  "verifier_failed",
  "verifier_too_few_neighbors",
  "guard_number",
  "guard_negation",
  "guard_entity",
  "guard_order",
  "guard_lexical",
  "explore",
  "quarantined",
  "too_old",
  "expired",
  "stream_shape",
  "tool_calls",
  "refresh",
  "not_admitted",
] as const;
export const refusalReasons = [
  "upstream_error",
  "truncated",
  "content_filtered",
  "refusal",
  "stream_incomplete",
  "empty",
  "guardrail_modified",
  "guardrail_failed_open",
  "no_usage",
  "invalid_tool_json",
  "not_cacheable",
  "too_large",
  "logging_disabled",
  "read_only",
  "served_mismatch",
  "fallback_served",
  "tool_calls",
  "generation_changed",
  "token_expired",
  "store_full",
  "store_failed",
  "no_rule",
  "disabled",
  "scope_missing",
  "sampled_request",
  "remote_content",
  "stateful_request",
  "unmodelled_param",
  "unrepresentable_content",
  "personalized",
  "time_sensitive",
  "no_matcher",
  "expired",
] as const;

/** The matcher that a candidate or an entry belongs to. */
export type MatchKind = (typeof matchKinds)[number] | "unknown";
/** Where a similarity falls. */
export type Zone = (typeof zones)[number] | "unknown";
/** The shape of a response body: a recorded stream, or one document. */
export type BodyShape = (typeof bodyShapes)[number];
/** What the caller allows the cache to do: `refresh` writes without reading, `read_only` reads without writing. */
export type CacheMode = (typeof cacheModes)[number];
/** A judgement on a served answer: `wrong` answered another question, `stale` was right once. */
export type Verdict = (typeof verdicts)[number];

/**
 * What happens before or instead of an answer of the sidecar. It never travels.
 *
 * - `sidecar_unreachable`: nobody listens at the target, or the connection broke
 * - `sidecar_timeout`: no answer within the budget; a Store may have been made all the same
 * - `sidecar_failed`: a fault, or what is not an answer
 * - `circuit_open`: it failed too often just now and was not asked
 * - `request_refused`: the call itself was refused: malformed, too large, not allowed
 * - `client_closed`: the client was closed
 * - `client_fault`: this client has a bug; please report the decision's error
 * - `caller_gone`: the caller's signal aborted first
 */
export type LocalReason =
  | "sidecar_unreachable"
  | "sidecar_timeout"
  | "sidecar_failed"
  | "circuit_open"
  | "request_refused"
  | "client_closed"
  | "client_fault"
  | "caller_gone";
/** Why a request, or one matcher, never looked anything up. */
export type BypassReason = (typeof bypassReasons)[number] | LocalReason | "unknown";
/** Why a candidate was not served although one existed. */
export type DenyReason = (typeof denyReasons)[number] | "unknown";
/** Why an answer was not stored. `nothing_to_fill`: the decision asked for no Store, so nothing was sent. */
export type RefusalReason = (typeof refusalReasons)[number] | LocalReason | "nothing_to_fill" | "unknown";

/** Returns the name of a number of the contract. */
export function nameOf<N extends string>(names: readonly N[], number: number): N | "unknown" | undefined {
  return number === 0 ? undefined : (names[number - 1] ?? "unknown");
}
