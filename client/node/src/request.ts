import type { Decision } from "./decision.js";
import type { Descriptor } from "./descriptor.js";
import type { BodyShape, CacheMode } from "./enums.js";
import type { UpstreamResponse } from "./upstream.js";

/** What a caller asks of the cache for one request. It can narrow what the rule allows, never widen it. */
export interface Controls {
  mode?: CacheMode | undefined;
  /** How long the answer may be served. Left out: as the rule says. */
  ttlMs?: number | undefined;
  /** Splits the scope further. */
  namespace?: string | undefined;
  /** The greatest age that the caller accepts. */
  maxAgeMs?: number | undefined;
  /** How long the answer must stay fresh from now on. */
  minFreshMs?: number | undefined;
  /** How far past its ttl the caller would take an answer, as far as the rule allows. */
  maxStaleMs?: number | undefined;
  /** Nothing may be written for this request. It may be answered from the cache. */
  loggingDisabled?: boolean | undefined;
}

/** What goes along with a call, but is not part of the request. */
export interface CallOptions {
  /** Ends the wait, not more: what was sent may still have its effect. */
  signal?: AbortSignal | undefined;
}

/** How one Lookup differs from the client's others. */
export interface LookupOptions extends CallOptions {
  controls?: Controls | undefined;
  /** How long the Lookup may take, in place of the client's budget. */
  budgetMs?: number | undefined;
  /** Leaves the body out of a hit. */
  omitBody?: boolean | undefined;
  /** The shapes that the caller can replay, under a rule whose key leaves the shape out. */
  accepts?: readonly BodyShape[] | undefined;
  /** How long to wait, beyond the budget, for another caller that is already filling the same miss. */
  waitForFillMs?: number | undefined;
  /** The provider has just failed, so a stale answer would do. */
  afterUpstreamError?: boolean | undefined;
  /** Asks for the steps of the decision. */
  trace?: boolean | undefined;
  /** The request in the gateway's words, for traces. Never key material. */
  requestId?: string | undefined;
  /** Asks for the conversation anchor. */
  anchor?: boolean | undefined;
  /** gRPC metadata of this call. It belongs to no other, so the call goes alone. */
  metadata?: Readonly<Record<string, string>> | undefined;
}

/** One question: may a stored answer be served for this request? */
export interface LookupRequest extends LookupOptions {
  descriptor: Descriptor;
}

/**
 * Under what an answer is filed: the decision of its Lookup, that decision's fill token, or a descriptor for an answer
 * that no Lookup preceded.
 */
export type Source = Decision | Uint8Array | Descriptor;

/** How one Store differs from others. */
export interface StoreOptions extends CallOptions {
  /** How long the answer may be served. Left out: as looked up, else as the rule says. */
  ttlMs?: number | undefined;
  /** Nothing may be written. */
  loggingDisabled?: boolean | undefined;
  /** Splits the scope further. Used only with a descriptor. */
  namespace?: string | undefined;
}

/** One answer to file. */
export interface StoreRequest extends StoreOptions {
  source: Source;
  response: UpstreamResponse;
}

/** Which answer a judgement is on: a decision, its feedback token, or the id of an entry. */
export type Subject = Decision | Uint8Array | string;
