import { type Duration, type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";

import type { Candidate, Decision, DecisionFacts, Evidence, Hit, StoreResult, Usage } from "./decision.js";
import {
  bodyShapes,
  bypassReasons,
  denyReasons,
  matchKinds,
  nameOf,
  outcomes,
  type RefusalReason,
  refusalReasons,
  zones,
} from "./enums.js";
import { AskOnceError, localReason } from "./errors.js";
import type {
  Candidate as CandidateMessage,
  Decision as DecisionMessage,
  Evidence as EvidenceMessage,
  Usage as UsageMessage,
} from "./gen/askonce/v1/decision_pb.js";
import { StoreOutcome, type StoreResponse } from "./gen/askonce/v1/decision_service_pb.js";

const nothing = new Uint8Array();

/**
 * Reads a decision. What is not known, or contradicts itself, reads as "no cache". `twin` is the decision of an
 * earlier, identical item of the batch, whose body this one borrows. Throws for a hit that cannot be served, since it
 * has no body or says that it is a shadow.
 */
export function decodeDecision(
  message: DecisionMessage | undefined,
  omitBody: boolean,
  twin?: Decision,
): Decision {
  if (message === undefined) throw new AskOnceError("sidecar_failed", "the sidecar sent no decision");
  const outcome = nameOf(outcomes, message.outcome);
  if (outcome === "hit") return decodeHit(message, omitBody, twin);
  const facts = factsOf(message);
  if (outcome === "miss") return { ...facts, outcome, hit: false };
  // Nothing is stored after a bypass, nor after an outcome that this client does not know.
  const unfilled = { storeAnswer: false, fillToken: nothing, leaseHolder: false };
  const bypassReason = facts.bypassReason ?? "unknown";
  return { ...facts, ...unfilled, bypassReason, outcome: "bypass", hit: false };
}

function decodeHit(message: DecisionMessage, omitBody: boolean, twin: Decision | undefined): Hit {
  const first = twin?.hit ? twin : undefined;
  const body = message.candidate?.body ?? (first && { data: first.body, contentType: first.contentType });
  const facts = factsOf(message);
  const candidate = facts.candidate ?? first?.candidate;
  if (message.shadow) {
    throw new AskOnceError("sidecar_failed", "the sidecar sent a hit of a rule that only watches");
  }
  if (candidate === undefined || (body === undefined && !omitBody)) {
    throw new AskOnceError("sidecar_failed", "the sidecar sent a hit without a body");
  }
  return {
    ...facts,
    outcome: "hit",
    hit: true,
    candidate,
    body: body?.data ?? nothing,
    contentType: body?.contentType ?? "",
    bodyOmitted: omitBody,
  };
}

function factsOf(message: DecisionMessage): DecisionFacts {
  return {
    id: message.decisionId,
    kind: nameOf(matchKinds, message.kind),
    candidate: message.candidate && decodeCandidate(message.candidate),
    bypassReason: nameOf(bypassReasons, message.bypassReason),
    denyReason: nameOf(denyReasons, message.denyReason),
    skipped: message.skipped.map(({ matcher, reason }) => ({
      matcher: nameOf(matchKinds, matcher),
      reason: nameOf(bypassReasons, reason),
    })),
    storeAnswer: message.storeAnswer,
    fillToken: message.fillToken,
    leaseHolder: message.leaseHolder,
    collapsed: message.collapsed,
    stale: message.stale,
    sameAs: message.sameAs,
    ruleId: message.ruleId,
    shadow: message.shadow,
    cacheStatus: message.cacheStatus,
    embedCostUsd: message.embedCostUsd,
    feedbackToken: message.feedbackToken,
    conversationAnchor: message.conversationAnchor,
    trace: message.trace.map(({ name, duration, result }) => ({
      name,
      durationMs: milliseconds(duration),
      result,
    })),
    error: undefined,
  };
}

function decodeCandidate(message: CandidateMessage): Candidate {
  return {
    entryId: message.entryId,
    entrySha7: message.entrySha7,
    scopeSha7: message.scopeSha7,
    similarity: message.similarity,
    threshold: message.threshold,
    lowThreshold: message.lowThreshold,
    zone: nameOf(zones, message.zone),
    verified: message.verified,
    verifier: message.verifier,
    ageMs: milliseconds(message.age),
    ttlLeftMs: milliseconds(message.ttlLeft),
    storeTime: instant(message.storeTime),
    expireTime: instant(message.expireTime),
    sourceRequestId: message.sourceRequestId,
    stream: nameOf(bodyShapes, message.stream),
    containsToolCalls: message.containsToolCalls,
    usage: decodeUsage(message.usage),
    evidence: decodeEvidence(message.evidence),
    costAvoidedUsd: message.costAvoidedUsd,
  };
}

/** A count beyond what a number can hold is unknown, not another one. */
function isExact(...counts: bigint[]): boolean {
  return counts.every((count) => count <= BigInt(Number.MAX_SAFE_INTEGER));
}

function decodeUsage(usage: UsageMessage | undefined): Usage | undefined {
  if (usage === undefined || !isExact(usage.inputTokens, usage.outputTokens)) return undefined;
  return { inputTokens: Number(usage.inputTokens), outputTokens: Number(usage.outputTokens) };
}

function decodeEvidence(evidence: EvidenceMessage | undefined): Evidence | undefined {
  if (evidence === undefined || !isExact(evidence.labels, evidence.wrong)) return undefined;
  const { vote, cut, labels, wrong, upperBound } = evidence;
  return { vote, cut, labels: Number(labels), wrong: Number(wrong), upperBound };
}

export function decodeStored(message: StoreResponse): StoreResult {
  const stored = message.outcome === StoreOutcome.STORED;
  const reason = nameOf(refusalReasons, message.refusalReason);
  return {
    stored,
    refusalReason: stored ? undefined : (reason ?? "unknown"),
    entries: message.entries.map(({ kind, entryId }) => ({ kind: nameOf(matchKinds, kind), entryId })),
    expireTime: instant(message.expireTime),
    cacheStatus: message.cacheStatus,
    error: undefined,
  };
}

const noFacts = {
  id: "",
  kind: undefined,
  candidate: undefined,
  bypassReason: undefined,
  denyReason: undefined,
  storeAnswer: false,
  fillToken: nothing,
  leaseHolder: false,
  collapsed: false,
  stale: false,
  sameAs: undefined,
  ruleId: "",
  shadow: false,
  cacheStatus: "",
  embedCostUsd: undefined,
  feedbackToken: nothing,
  conversationAnchor: "",
  error: undefined,
} as const;

/** Returns what a decision says that the sidecar did not make. */
export function emptyFacts(): DecisionFacts {
  return { ...noFacts, skipped: [], trace: [] };
}

/** Returns the bypass that stands for a decision that never came. */
export function noDecision(error: AskOnceError): Decision {
  const bypassReason = localReason(error);
  const cacheStatus = `askonce; fwd=bypass; detail=${bypassReason}`;
  return { ...emptyFacts(), outcome: "bypass", hit: false, bypassReason, cacheStatus, error };
}

function refusal(refusalReason: RefusalReason, error: AskOnceError | undefined): StoreResult {
  return { stored: false, refusalReason, entries: [], expireTime: undefined, cacheStatus: "", error };
}

/** Returns the refusal that stands for an acknowledgement that never came. */
export function notStored(error: AskOnceError): StoreResult {
  return refusal(localReason(error), error);
}

/** Returns the refusal of a Store that its decision did not ask for. */
export function nothingToFill(): StoreResult {
  return refusal("nothing_to_fill", undefined);
}

export function milliseconds(span: Duration | undefined): number {
  return span === undefined ? 0 : Number(span.seconds) * 1000 + span.nanos / 1e6;
}

function instant(at: Timestamp | undefined): Date | undefined {
  return at && timestampDate(at);
}
