import { create, toBinary } from "@bufbuild/protobuf";
import { type Duration, DurationSchema, timestampFromDate } from "@bufbuild/protobuf/wkt";

import { bytesOf, isWellFormed } from "./bytes.js";
import type { Decision } from "./decision.js";
import type { Content, Descriptor, Embedding, Target } from "./descriptor.js";
import { bodyShapes, cacheModes, verdicts } from "./enums.js";
import { AskOnceError, type Violation } from "./errors.js";
import {
  AbandonRequestSchema,
  ControlsSchema,
  LookupRequestSchema,
  RecordFeedbackRequestSchema,
  StoreRequestSchema,
  type StoreRequest as StoreMessage,
  UpstreamResponseSchema,
} from "./gen/askonce/v1/decision_service_pb.js";
import { RequestDescriptorSchema } from "./gen/askonce/v1/descriptor_pb.js";
import type { Controls, LookupRequest, Source, StoreRequest, Subject } from "./request.js";
import type { UpstreamResponse } from "./upstream.js";

const UINT32_MAX = 2 ** 32 - 1;

/** Makes fields of the contract and gathers every bad one. What it says never quotes a value. */
class Encoder {
  readonly #violations: Violation[] = [];

  check(): void {
    if (this.#violations.length > 0) {
      const violations = this.#violations;
      throw new AskOnceError("invalid_request", "the request cannot be encoded", { violations });
    }
  }

  wrong(field: string, description: string): void {
    this.#violations.push({ field, description });
  }

  text(field: string, value: string | undefined): string {
    if (value === undefined) return "";
    if (typeof value !== "string" || !isWellFormed(value)) {
      this.wrong(field, "must be text, without halves of surrogate pairs");
      return "";
    }
    return value;
  }

  /** Returns the members in the order of their names, so that equal requests are equal bytes. */
  texts(field: string, values: Readonly<Record<string, string>> | undefined): Record<string, string> {
    const names = Object.keys(values ?? {}).sort();
    return Object.fromEntries(
      names.map((name) => [this.text(field, name), this.text(field, values?.[name])]),
    );
  }

  bytes(field: string, value: string | Uint8Array | undefined): Uint8Array {
    if (typeof value === "string") return bytesOf(this.text(field, value));
    if (value !== undefined && !(value instanceof Uint8Array)) {
      this.wrong(field, "must be text or bytes");
      return new Uint8Array();
    }
    return value ?? new Uint8Array();
  }

  json(field: string, value: string | Uint8Array | object): Uint8Array {
    if (typeof value === "string" || value instanceof Uint8Array) return this.bytes(field, value);
    try {
      return bytesOf(JSON.stringify(value));
    } catch {
      this.wrong(field, "must be a value that JSON can spell");
      return new Uint8Array();
    }
  }

  number(field: string, names: readonly string[], name: string | undefined): number {
    if (name === undefined) return 0;
    const number = names.indexOf(name) + 1;
    if (number === 0) this.wrong(field, `must be one of ${names.join(", ")}`);
    return number;
  }

  count(field: string, value: number): bigint {
    if (Number.isSafeInteger(value) && value >= 0) return BigInt(value);
    this.wrong(field, "must be a whole number from 0 to 2^53 - 1");
    return 0n;
  }

  span(field: string, milliseconds: number | undefined): Duration | undefined {
    if (milliseconds === undefined) return undefined;
    if (!Number.isFinite(milliseconds) || Math.abs(milliseconds) > 1e15) {
      this.wrong(field, "must be a number of milliseconds");
      return undefined;
    }
    const nanoseconds = BigInt(Math.round(milliseconds * 1e6));
    const billion = 1_000_000_000n;
    return create(DurationSchema, {
      seconds: nanoseconds / billion,
      nanos: Number(nanoseconds % billion),
    });
  }

  target(field: string, target: Target | undefined): Target | undefined {
    if (target === undefined) return undefined;
    const provider = this.text(`${field}.provider`, target.provider);
    return { provider, model: this.text(`${field}.model`, target.model) };
  }

  controls(controls: Controls | undefined) {
    if (controls === undefined) return undefined;
    return create(ControlsSchema, {
      mode: this.number("controls.mode", cacheModes, controls.mode),
      ttl: this.span("controls.ttl", controls.ttlMs),
      namespace: this.text("controls.namespace", controls.namespace),
      maxAge: this.span("controls.max_age", controls.maxAgeMs),
      minFresh: this.span("controls.min_fresh", controls.minFreshMs),
      maxStale: this.span("controls.max_stale", controls.maxStaleMs),
      loggingDisabled: controls.loggingDisabled ?? false,
    });
  }

  descriptor(given: Descriptor) {
    return create(RequestDescriptorSchema, {
      dialect: this.text("descriptor.dialect", given.dialect),
      endpoint: this.text("descriptor.endpoint", given.endpoint),
      served: this.target("descriptor.served", given.served),
      requested: this.target("descriptor.requested", given.requested),
      routeId: this.text("descriptor.route_id", given.routeId),
      routeVersion: this.text("descriptor.route_version", given.routeVersion),
      ruleBranch: this.text("descriptor.rule_branch", given.ruleBranch),
      stream: given.stream,
      scope: this.texts("descriptor.scope", given.scope),
      content: given.content === undefined ? { case: undefined } : this.content(given.content),
      versions: this.texts("descriptor.versions", given.versions),
      headers: this.texts("descriptor.headers", given.headers),
      embedding: this.embedding(given.embedding),
      personalized: given.personalized ?? false,
      attributes: this.texts("descriptor.attributes", given.attributes),
    });
  }

  content(content: Content) {
    if ("bodyJson" in content) {
      return { case: "bodyJson" as const, value: this.json("descriptor.body_json", content.bodyJson) };
    }
    if ("parts" in content) {
      const { messages, system, tools, params } = content.parts;
      const value = {
        messages: this.bytes("descriptor.parts.messages", messages),
        system: this.bytes("descriptor.parts.system", system),
        tools: this.bytes("descriptor.parts.tools", tools),
        params: this.bytes("descriptor.parts.params", params),
      };
      return { case: "parts" as const, value };
    }
    const { canonicalization, canonicalizationVersion, ...digests } = content.digests;
    const value = {
      exactSha256: digests.exactSha256,
      normalizedSha256: digests.normalizedSha256 ?? new Uint8Array(),
      canonicalization: this.text("descriptor.digests.canonicalization", canonicalization),
      canonicalizationVersion: this.text(
        "descriptor.digests.canonicalization_version",
        canonicalizationVersion,
      ),
      facts: digests.facts,
    };
    return { case: "digests" as const, value };
  }

  embedding(given: Embedding | undefined) {
    if (given === undefined) return undefined;
    const values = new Uint8Array(4 * given.values.length);
    const view = new DataView(values.buffer);
    for (let at = 0; at < given.values.length; at++) view.setFloat32(4 * at, given.values[at] ?? NaN, true);
    return { embedder: this.text("descriptor.embedding.embedder", given.embedder), values };
  }

  response(given: UpstreamResponse) {
    const { usage, requestStartTime } = given;
    return create(UpstreamResponseSchema, {
      body: this.bytes("response.body", given.body),
      contentType: this.text("response.content_type", given.contentType),
      statusCode: statusCode(given.statusCode),
      finishReasons: (given.finishReasons ?? []).map((said) => this.text("response.finish_reasons", said)),
      streamComplete: given.streamComplete ?? false,
      usage: usage && {
        inputTokens: this.count("response.usage.input_tokens", usage.inputTokens),
        outputTokens: this.count("response.usage.output_tokens", usage.outputTokens),
      },
      costUsd: given.costUsd,
      containsToolCalls: given.containsToolCalls ?? false,
      refused: given.refused ?? false,
      outputGuardrailModified: given.outputGuardrailModified ?? false,
      guardrailFailedOpen: given.guardrailFailedOpen ?? false,
      cacheable: given.cacheable,
      served: this.target("response.served", given.served),
      fallbackUsed: given.fallbackUsed ?? false,
      sourceRequestId: this.text("response.source_request_id", given.sourceRequestId),
      requestStartTime: requestStartTime && timestampFromDate(requestStartTime),
    });
  }

  source(source: Source): StoreMessage["source"] {
    const token = tokenOf(source);
    if (token !== undefined) return { case: "fillToken", value: token };
    return { case: "descriptor", value: this.descriptor(source as Descriptor) };
  }
}

/** A status that is none reads as 0, under which nothing is stored. */
function statusCode(said: number): number {
  return Number.isInteger(said) && said > 0 && said < UINT32_MAX / 2 ? said : 0;
}

export function isDecision(value: Source | Subject): value is Decision {
  return typeof value === "object" && "outcome" in value;
}

/** Returns the fill token of a decision, or the token itself; undefined for a descriptor. */
export function tokenOf(source: Source): Uint8Array | undefined {
  if (source instanceof Uint8Array) return source;
  return isDecision(source) ? source.fillToken : undefined;
}

/** Encodes a LookupRequest that may take so long. Throws an AskOnceError that names every bad field. */
export function encodeLookup(request: LookupRequest, budgetMs: number): Uint8Array {
  const encoder = new Encoder();
  const message = create(LookupRequestSchema, {
    descriptor: encoder.descriptor(request.descriptor),
    controls: encoder.controls(request.controls),
    budget: encoder.span("budget", budgetMs),
    omitBody: request.omitBody ?? false,
    accepts: (request.accepts ?? []).map((shape) => encoder.number("accepts", bodyShapes, shape)),
    waitForFill: encoder.span("wait_for_fill", request.waitForFillMs),
    afterUpstreamError: request.afterUpstreamError ?? false,
    trace: request.trace ?? false,
    requestId: encoder.text("request_id", request.requestId),
    anchor: request.anchor ?? false,
  });
  encoder.check();
  return toBinary(LookupRequestSchema, message);
}

/** Encodes a StoreRequest. Throws an AskOnceError that names every bad field. */
export function encodeStore(request: StoreRequest): Uint8Array {
  const encoder = new Encoder();
  const message = create(StoreRequestSchema, {
    source: encoder.source(request.source),
    response: encoder.response(request.response),
    ttl: encoder.span("ttl", request.ttlMs),
    loggingDisabled: request.loggingDisabled ?? false,
    namespace: encoder.text("namespace", request.namespace),
  });
  encoder.check();
  return toBinary(StoreRequestSchema, message);
}

export function encodeAbandon(fillToken: Uint8Array): Uint8Array {
  return toBinary(AbandonRequestSchema, create(AbandonRequestSchema, { fillToken }));
}

export function encodeFeedback(subject: Subject, verdict: string, source: string): Uint8Array {
  const encoder = new Encoder();
  const message = create(RecordFeedbackRequestSchema, {
    subject:
      typeof subject === "string"
        ? { case: "entryId", value: encoder.text("entry_id", subject) }
        : { case: "feedbackToken", value: isDecision(subject) ? subject.feedbackToken : subject },
    verdict: encoder.number("verdict", verdicts, verdict),
    source: encoder.text("source", source),
  });
  encoder.check();
  return toBinary(RecordFeedbackRequestSchema, message);
}
