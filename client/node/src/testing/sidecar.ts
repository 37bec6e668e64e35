import { createHash } from "node:crypto";

import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";

import { bypassReasons, type MatchKind, matchKinds, refusalReasons } from "../enums.js";
import { GetServerInfoResponseSchema } from "../gen/askonce/v1/admin_service_pb.js";
import {
  type Decision as DecisionMessage,
  DecisionSchema,
  MatchKind as Kind,
  Outcome,
} from "../gen/askonce/v1/decision_pb.js";
import {
  AbandonRequestSchema,
  AbandonResponseSchema,
  BatchLookupRequestSchema,
  BatchLookupResponseSchema,
  BatchStoreRequestSchema,
  BatchStoreResponseSchema,
  CacheMode,
  type LookupRequest as LookupMessage,
  LookupRequestSchema,
  LookupResponseSchema,
  RecordFeedbackResponseSchema,
  StoreOutcome,
  type StoreRequest as StoreMessage,
  StoreRequestSchema,
  StoreResponseSchema,
  type UpstreamResponse as ResponseMessage,
} from "../gen/askonce/v1/decision_service_pb.js";
import type { RequestDescriptor } from "../gen/askonce/v1/descriptor_pb.js";
import { BypassReason, DenyReason, RefusalReason } from "../gen/askonce/v1/reason_pb.js";
import type { RuleSummary } from "../server_info.js";
import type { Status } from "../status.js";
import type { Along, Done, Transport } from "../transport.js";

export type { DecisionMessage, LookupMessage, StoreMessage };

const UNIMPLEMENTED = 12;

/** A tiny cache, keyed on JSON apart from white space and the order of keys, that answers by script first. */
export class ImaginedSidecar implements Transport {
  readonly calls: string[] = [];
  readonly lookups: LookupMessage[] = [];
  readonly stores: StoreMessage[] = [];
  readonly abandons: Uint8Array[] = [];
  readonly batches: { items: number; bytes: number }[] = [];
  readonly metadata: Readonly<Record<string, string>>[] = [];
  readonly failures: Status[] = [];
  readonly decisions: DecisionMessage[] = [];
  readonly refusals: number[] = [];
  delayMs = 0;
  rules: RuleSummary[] = [
    { id: "default", mode: "serve", strategy: ["exact", "normalized"], scope: ["tenant"], ttlMs: 0 },
  ];
  readonly #entries = new Map<string, ResponseMessage>();
  readonly #tokens = new Map<string, string>();

  unary(path: string, request: Uint8Array, { metadata }: Along, done: Done): () => void {
    const timer = setTimeout(() => {
      const answer = this.#answer(path.split("/").pop() ?? "", request, metadata);
      if (answer instanceof Uint8Array) done(undefined, answer);
      else done(answer, new Uint8Array());
    }, this.delayMs);
    return () => clearTimeout(timer);
  }

  close(): void {
    // There is no connection.
  }

  #answer(method: string, raw: Uint8Array, metadata: Readonly<Record<string, string>>): Uint8Array | Status {
    // A client asks it by itself, so it takes no part in a script.
    if (method === "GetServerInfo") return this.#info();
    this.calls.push(method);
    this.metadata.push(metadata);
    const failure = this.failures.shift();
    if (failure !== undefined) return failure;
    switch (method) {
      case "Lookup": {
        const decision = this.#decide(fromBinary(LookupRequestSchema, raw));
        return toBinary(LookupResponseSchema, create(LookupResponseSchema, { decision }));
      }
      case "BatchLookup":
        return this.#decideAll(raw);
      case "Store":
        return toBinary(StoreResponseSchema, this.#file(fromBinary(StoreRequestSchema, raw)));
      case "BatchStore": {
        const { items } = fromBinary(BatchStoreRequestSchema, raw);
        const results = items.map((item) => ({
          result: { case: "response" as const, value: this.#file(item) },
        }));
        return toBinary(BatchStoreResponseSchema, create(BatchStoreResponseSchema, { results }));
      }
      case "Abandon":
        this.abandons.push(fromBinary(AbandonRequestSchema, raw).fillToken);
        return toBinary(AbandonResponseSchema, create(AbandonResponseSchema, { released: true }));
      case "RecordFeedback":
        return toBinary(
          RecordFeedbackResponseSchema,
          create(RecordFeedbackResponseSchema, { recorded: true }),
        );
      default:
        return { code: UNIMPLEMENTED, message: "the imagined sidecar does not have this method" };
    }
  }

  #info(): Uint8Array {
    const rules = this.rules.map(({ id, mode, strategy, scope, ttlMs }) => ({
      id,
      mode,
      scope,
      strategy: strategy.map(numberOfMatcher),
      ttl: { seconds: BigInt(Math.round(ttlMs / 1000)) },
    }));
    const info = { version: "0.0.0", keySchema: "askonce/1", storeServing: true, rules };
    return toBinary(GetServerInfoResponseSchema, create(GetServerInfoResponseSchema, info));
  }

  /** Decides a batch. As in the sidecar, a twin of an earlier item carries neither body nor token. */
  #decideAll(raw: Uint8Array): Uint8Array {
    const { items } = fromBinary(BatchLookupRequestSchema, raw);
    this.batches.push({ items: items.length, bytes: raw.length });
    const firsts = new Map<string, number>();
    const results = items.map((item, index) => {
      const decision = this.#decide(item);
      const key = keyOf(item.descriptor, item.controls?.namespace);
      const first = key === undefined ? undefined : firsts.get(key);
      if (first !== undefined) {
        Object.assign(decision, { sameAs: first, storeAnswer: false, fillToken: new Uint8Array() });
        if (decision.candidate) decision.candidate.body = undefined;
      } else if (key !== undefined) {
        firsts.set(key, index);
      }
      return { result: { case: "decision" as const, value: decision } };
    });
    return toBinary(BatchLookupResponseSchema, create(BatchLookupResponseSchema, { results }));
  }

  #decide(request: LookupMessage): DecisionMessage {
    this.lookups.push(request);
    const { descriptor, controls } = request;
    const key = keyOf(descriptor, controls?.namespace);
    const decision = this.decisions.shift() ?? create(DecisionSchema, this.#find(request, key));
    decision.decisionId ||= this.lookups.length.toString(16).padStart(32, "0");
    decision.ruleId ||= "default";
    const writes = controls?.mode !== CacheMode.READ_ONLY && !controls?.loggingDisabled;
    if (decision.outcome === Outcome.MISS && key !== undefined && writes) {
      const token = `fill-${this.#tokens.size}`;
      this.#tokens.set(token, key);
      decision.storeAnswer = true;
      decision.fillToken = Buffer.from(token);
    }
    if (request.omitBody && decision.candidate) decision.candidate.body = undefined;
    return decision;
  }

  #find(
    { controls, descriptor }: LookupMessage,
    key: string | undefined,
  ): MessageInitShape<typeof DecisionSchema> {
    if (controls?.mode === CacheMode.BYPASS) return bypass(BypassReason.CALLER_BYPASS);
    if (!descriptor?.scope["tenant"]) return bypass(BypassReason.SCOPE_MISSING);
    if (key === undefined) return bypass(BypassReason.UNREPRESENTABLE_CONTENT);
    if (controls?.mode === CacheMode.REFRESH) {
      return { outcome: Outcome.MISS, denyReason: DenyReason.REFRESH, cacheStatus: "askonce; fwd=request" };
    }
    const found = this.#entries.get(key);
    if (found === undefined) return { outcome: Outcome.MISS, cacheStatus: "askonce; fwd=miss" };
    const id = entryIdOf(key);
    return {
      outcome: Outcome.HIT,
      kind: Kind.EXACT,
      cacheStatus: "askonce; hit",
      feedbackToken: Buffer.from(`feedback-${id}`),
      candidate: {
        entryId: id,
        entrySha7: id.slice(0, 7),
        sourceRequestId: found.sourceRequestId,
        containsToolCalls: found.containsToolCalls,
        usage: found.usage,
        body: { data: found.body, contentType: found.contentType },
      },
    };
  }

  #file(request: StoreMessage) {
    this.stores.push(request);
    const { source } = request;
    const key =
      source.case === "descriptor"
        ? keyOf(source.value, request.namespace)
        : this.#tokens.get(Buffer.from(source.value ?? []).toString());
    const refusalReason = this.refusals.shift() ?? refusalOf(request, key);
    if (refusalReason !== 0 || key === undefined || request.response === undefined) {
      return create(StoreResponseSchema, { outcome: StoreOutcome.REFUSED, refusalReason });
    }
    this.#entries.set(key, request.response);
    const entries = [{ kind: Kind.EXACT, entryId: entryIdOf(key) }];
    return create(StoreResponseSchema, { outcome: StoreOutcome.STORED, entries });
  }
}

/** Returns the number of a reason of the sidecar's own. */
export function numberOfReason(reasons: readonly string[], reason: string): number {
  const number = reasons.indexOf(reason) + 1;
  if (number === 0) throw new RangeError(`${reason} is no reason of the sidecar's`);
  return number;
}

export const numberOfBypass = (reason: string) => numberOfReason(bypassReasons, reason);
export const numberOfRefusal = (reason: string) => numberOfReason(refusalReasons, reason);

function numberOfMatcher(matcher: MatchKind): number {
  const known = (matchKinds as readonly string[]).indexOf(matcher) + 1;
  return known === 0 ? 99 : known; // "unknown" is what this client does not know
}

function bypass(bypassReason: BypassReason) {
  return { outcome: Outcome.BYPASS, bypassReason, cacheStatus: "askonce; fwd=bypass" };
}

function refusalOf({ source, response, loggingDisabled }: StoreMessage, key: string | undefined): number {
  if (key === undefined) {
    return source.case === "descriptor" ? RefusalReason.UNREPRESENTABLE_CONTENT : RefusalReason.TOKEN_EXPIRED;
  }
  const status = response?.statusCode ?? 0;
  if (loggingDisabled) return RefusalReason.LOGGING_DISABLED;
  if (status < 200 || status > 299) return RefusalReason.UPSTREAM_ERROR;
  if (!response?.body.length) return RefusalReason.EMPTY;
  return response.cacheable === false ? RefusalReason.NOT_CACHEABLE : 0;
}

function entryIdOf(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}

/** Returns everything that the answer depends on as sorted JSON; undefined when it is not JSON. */
function keyOf(descriptor: RequestDescriptor | undefined, namespace = ""): string | undefined {
  if (descriptor === undefined) return undefined;
  const { content, stream, scope, versions, headers, served, requested } = descriptor;
  const raw =
    content.case === "parts"
      ? [content.value.messages, content.value.system, content.value.tools, content.value.params]
      : content.case === "bodyJson"
        ? [content.value]
        : [];
  try {
    const trees = raw.map((part) => (part.length === 0 ? null : JSON.parse(Buffer.from(part).toString())));
    const digest = content.case === "digests" ? Buffer.from(content.value.exactSha256).toString("hex") : null;
    const route = [descriptor.routeId, descriptor.routeVersion, descriptor.ruleBranch];
    const targets = [served?.provider, served?.model, requested?.provider, requested?.model];
    const who = [
      descriptor.dialect,
      descriptor.endpoint,
      namespace,
      scope,
      versions,
      headers,
      stream ?? null,
    ];
    return JSON.stringify(sorted([who, targets, route, content.case, trees, digest]));
  } catch {
    return undefined;
  }
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value ?? null;
  return Object.entries(value)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, member]) => [name, sorted(member)]);
}
