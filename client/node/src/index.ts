/** The client of AskOnce, the cache-decision sidecar for LLM gateways. */

export type { BreakerSettings, BreakerState } from "./breaker.js";
export type { Propagate } from "./caller.js";
export type { Tls } from "./channel.js";
export type { Claim } from "./claim.js";
export { AskOnce, type Fetched, type FillFromProvider, type Options } from "./client.js";
export type {
  AbandonResult,
  Bypass,
  Candidate,
  Decision,
  DecisionFacts,
  Evidence,
  FeedbackResult,
  Hit,
  Miss,
  SkippedMatcher,
  StoredEntry,
  StoreResult,
  TraceStep,
  Usage,
} from "./decision.js";
export {
  anthropicMessages,
  type Content,
  type Descriptor,
  type Digests,
  type Embedding,
  type Json,
  openAIChat,
  openAIEmbeddings,
  openAIResponses,
  type Parts,
  type Scope,
  type Target,
} from "./descriptor.js";
export type {
  BodyShape,
  BypassReason,
  CacheMode,
  DenyReason,
  LocalReason,
  MatchKind,
  RefusalReason,
  Verdict,
  Zone,
} from "./enums.js";
export { AskOnceError, type ErrorKind, type Violation } from "./errors.js";
export type { Log } from "./log.js";
export type {
  CallOptions,
  Controls,
  LookupOptions,
  LookupRequest,
  Source,
  StoreOptions,
  StoreRequest,
  Subject,
} from "./request.js";
export { isDeterministic, type RuleSummary, type ServerInfo } from "./server_info.js";
export type { Status } from "./status.js";
export type { Along, Done, Transport } from "./transport.js";
export {
  fromAnthropicMessages,
  fromOpenAIChat,
  fromOpenAIEmbeddings,
  fromOpenAIResponses,
  type UpstreamResponse,
} from "./upstream.js";
