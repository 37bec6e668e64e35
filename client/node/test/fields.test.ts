import assert from "node:assert/strict";
import { test } from "node:test";

import type { DescEnum, DescMessage, Message } from "@bufbuild/protobuf";
import { reflect, type ReflectMessage } from "@bufbuild/protobuf/reflect";

import * as enums from "../src/enums.js";
import {
  BodyShapeSchema,
  MatchKindSchema,
  OutcomeSchema,
  ZoneSchema,
} from "../src/gen/askonce/v1/decision_pb.js";
import {
  CacheModeSchema,
  LookupRequestSchema,
  StoreOutcomeSchema,
  UpstreamResponseSchema,
  VerdictSchema,
} from "../src/gen/askonce/v1/decision_service_pb.js";
import { DigestsSchema } from "../src/gen/askonce/v1/descriptor_pb.js";
import {
  BypassReasonSchema,
  DenyReasonSchema,
  RefusalReasonSchema,
} from "../src/gen/askonce/v1/reason_pb.js";
import { acme, gpt4o, hello, patient } from "./requests.js";

const pairs: [DescEnum, readonly string[]][] = [
  [OutcomeSchema, enums.outcomes],
  [StoreOutcomeSchema, enums.storeOutcomes],
  [MatchKindSchema, enums.matchKinds],
  [ZoneSchema, enums.zones],
  [BodyShapeSchema, enums.bodyShapes],
  [CacheModeSchema, enums.cacheModes],
  [VerdictSchema, enums.verdicts],
  [BypassReasonSchema, enums.bypassReasons],
  [DenyReasonSchema, enums.denyReasons],
  [RefusalReasonSchema, enums.refusalReasons],
];

for (const [contract, names] of pairs) {
  test(`${contract.name} has the names and numbers of the contract`, () => {
    const prefix = contract.sharedPrefix ?? "";
    const wanted = contract.values.filter(({ number }) => number > 0);
    const expected = wanted.map(({ name, number }) => [number, name.toLowerCase().replace(prefix, "")]);
    assert.deepEqual(
      names.map((name, at) => [at + 1, name]),
      expected,
    );
  });
}

/** Fails for every field, of every message inside, that was not sent. */
function assertAllSet(schema: DescMessage, message: Message, except: string[] = []): void {
  const missing: string[] = [];
  const walk = (within: ReflectMessage, path: string) => {
    for (const field of within.fields) {
      const here = `${path}${field.name}`;
      if (except.includes(here)) continue;
      if (!within.isSet(field)) missing.push(here);
      else if (field.fieldKind === "message") walk(within.get(field), `${here}.`);
    }
  };
  walk(reflect(schema, message), "");
  assert.deepEqual(
    missing.filter((path) => !path.endsWith(".nanos") && !path.endsWith(".seconds")),
    [],
  );
}

test("every field of a Lookup travels", async () => {
  const fake = patient();
  const descriptor = {
    dialect: "openai",
    endpoint: "chat",
    served: gpt4o,
    requested: { provider: "any", model: "smart" },
    routeId: "r",
    routeVersion: "3",
    ruleBranch: "b",
    stream: true,
    scope: acme,
    personalized: true,
    versions: { guardrail: "2" },
    headers: { "anthropic-beta": "x" },
    attributes: { app: "support" },
    embedding: { embedder: "mine", values: [1, -0.5] },
    content: { parts: { messages: '["m"]', system: '"s"', tools: '["t"]', params: '{"p":1}' } },
  };
  await fake.lookup(descriptor, {
    controls: {
      mode: "read_only",
      ttlMs: 3_600_000,
      namespace: "n",
      maxAgeMs: 60_000,
      minFreshMs: 1000,
      maxStaleMs: 2000.5,
      loggingDisabled: true,
    },
    budgetMs: 10_000,
    waitForFillMs: 3000,
    requestId: "id",
    accepts: ["stream", "json"],
    omitBody: true,
    trace: true,
    anchor: true,
    afterUpstreamError: true,
  });
  const [sent] = fake.lookups;
  assert.ok(sent);
  assert.equal(sent.budget?.seconds, 13n); // waiting comes on top of the budget
  assert.deepEqual([sent.controls?.maxStale?.seconds, sent.controls?.maxStale?.nanos], [2n, 500_000]);
  // Vectors travel as float32, little endian.
  assert.equal(Buffer.from(sent.descriptor?.embedding?.values ?? []).toString("hex"), "0000803f000000bf");
  assertAllSet(LookupRequestSchema, sent, ["descriptor.body_json", "descriptor.digests"]);
});

test("digests travel", async () => {
  const fake = patient();
  const facts = { sampling: false, remoteContent: false, stateful: false, personalized: false };
  const digest = new Uint8Array(32);
  await fake.lookup({
    ...hello(""),
    content: {
      digests: {
        exactSha256: digest,
        normalizedSha256: digest,
        canonicalization: "mine",
        canonicalizationVersion: "1",
        facts,
      },
    },
  });
  const content = fake.lookups[0]?.descriptor?.content;
  assert.equal(content?.case, "digests");
  assertAllSet(DigestsSchema, content.value);
});

test("every field of a Store travels", async () => {
  const fake = patient();
  const response = {
    body: "x",
    contentType: "text/plain",
    statusCode: 200,
    finishReasons: ["stop"],
    streamComplete: true,
    usage: { inputTokens: Number.MAX_SAFE_INTEGER, outputTokens: 2 },
    costUsd: 0.5,
    containsToolCalls: true,
    refused: true,
    outputGuardrailModified: true,
    guardrailFailedOpen: true,
    cacheable: false,
    served: gpt4o,
    fallbackUsed: true,
    sourceRequestId: "id",
    requestStartTime: new Date(),
  };
  const options = { ttlMs: 3_600_000, namespace: "n", loggingDisabled: true };
  const stored = await fake.store(hello("hi"), response, options);
  assert.equal(stored.refusalReason, "logging_disabled");
  const [sent] = fake.stores;
  assert.ok(sent?.response);
  assertAllSet(UpstreamResponseSchema, sent.response);
  assert.equal(sent.response.usage?.inputTokens, 9007199254740991n);
  assert.equal(sent.ttl?.seconds, 3600n);
  assert.equal(sent.namespace, "n");
  assert.equal(sent.source.case, "descriptor");
});
