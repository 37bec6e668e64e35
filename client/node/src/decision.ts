import type { BodyShape, BypassReason, DenyReason, MatchKind, RefusalReason, Zone } from "./enums.js";
import type { AskOnceError } from "./errors.js";

/** Tokens as the provider counted them. */
export interface Usage {
  inputTokens: number;
  outputTokens: number;
}

/** What a vote policy found around a semantic candidate. Shares are 0 to 1. */
export interface Evidence {
  vote: number;
  cut: number;
  labels: number;
  wrong: number;
  upperBound: number;
}

/** The stored entry that a matcher proposed. What was not said, or is not known, is undefined. */
export interface Candidate {
  /** 64 hex characters. */
  entryId: string;
  entrySha7: string;
  scopeSha7: string;
  /** A cosine, -1 to 1; only of candidates that are semantic. */
  similarity: number | undefined;
  threshold: number | undefined;
  lowThreshold: number | undefined;
  zone: Zone | undefined;
  verified: boolean;
  verifier: string;
  /** Counts from the start of the request that the answer was made for. */
  ageMs: number;
  /** Negative when the answer is stale. */
  ttlLeftMs: number;
  storeTime: Date | undefined;
  expireTime: Date | undefined;
  sourceRequestId: string;
  stream: BodyShape | "unknown" | undefined;
  containsToolCalls: boolean;
  /** That of the answer when it was made. A hit is not billed. */
  usage: Usage | undefined;
  evidence: Evidence | undefined;
  /** In US dollars. Unknown is not zero. */
  costAvoidedUsd: number | undefined;
}

/** A matcher that was not asked, and why. */
export interface SkippedMatcher {
  matcher: MatchKind | undefined;
  reason: BypassReason | undefined;
}

/** One step on the way to a decision. */
export interface TraceStep {
  name: string;
  durationMs: number;
  result: string;
}

/** What every decision says. */
export interface DecisionFacts {
  id: string;
  kind: MatchKind | undefined;
  candidate: Candidate | undefined;
  /** Why there is a bypass; on a miss it is the last matcher's skip. */
  bypassReason: BypassReason | undefined;
  /** Why a candidate was not served; only on a miss. */
  denyReason: DenyReason | undefined;
  skipped: SkippedMatcher[];
  /** Call `store` with this decision after the provider has answered. */
  storeAnswer: boolean;
  fillToken: Uint8Array;
  /** Others wait for this caller's `store` or `abandon`. */
  leaseHolder: boolean;
  /** This caller waited for another's `store`. */
  collapsed: boolean;
  stale: boolean;
  /** In a batch, the index of an earlier, identical item. */
  sameAs: number | undefined;
  ruleId: string;
  /** The rule only watches: never a hit, and the candidate is what would have been served. */
  shadow: boolean;
  /** The value of an RFC 9211 Cache-Status field. */
  cacheStatus: string;
  embedCostUsd: number | undefined;
  feedbackToken: Uint8Array;
  conversationAnchor: string;
  trace: TraceStep[];
  /** Why there is no decision of the sidecar. Only on a bypass. */
  error: AskOnceError | undefined;
}

/** Serve `body`. */
export interface Hit extends DecisionFacts {
  outcome: "hit";
  hit: true;
  candidate: Candidate;
  /** The stored answer. It may be shared: do not change it. Empty when the caller asked for none. */
  body: Uint8Array;
  contentType: string;
  bodyOmitted: boolean;
}

/** Call the provider, then store if `storeAnswer` says so. */
export interface Miss extends DecisionFacts {
  outcome: "miss";
  hit: false;
}

/** Call the provider and store nothing. */
export interface Bypass extends DecisionFacts {
  outcome: "bypass";
  hit: false;
  bypassReason: BypassReason;
}

/**
 * The answer of a Lookup. Reading it lazily is safe: only a hit looks like one, and an outcome that this client does
 * not know reads as a bypass.
 */
export type Decision = Hit | Miss | Bypass;

/** An entry that was written. */
export interface StoredEntry {
  kind: MatchKind | undefined;
  entryId: string;
}

/** What became of a Store. */
export interface StoreResult {
  /** Whether the answer is durable and visible. */
  stored: boolean;
  refusalReason: RefusalReason | undefined;
  /** One a matcher. */
  entries: StoredEntry[];
  expireTime: Date | undefined;
  /** The value of an RFC 9211 Cache-Status field for the response that was stored. */
  cacheStatus: string;
  /** Why there is no acknowledgement of the sidecar. Only on a refusal. */
  error: AskOnceError | undefined;
}

/** What became of an Abandon. */
export interface AbandonResult {
  /** Whether a lease was held and is free now. */
  released: boolean;
  error: AskOnceError | undefined;
}

/** What became of a judgement. */
export interface FeedbackResult {
  recorded: boolean;
  error: AskOnceError | undefined;
}
