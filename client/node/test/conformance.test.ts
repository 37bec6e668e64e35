import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { after, before, test } from "node:test";

import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { AskOnce, type Content, type Decision, type Descriptor, type UpstreamResponse } from "askonce";

import { type RequestDescriptor, RequestDescriptorSchema } from "../src/gen/askonce/v1/descriptor_pb.js";
import { quiet } from "./requests.js";
import { noSidecar, noVectors, Sidecar, vectorsFolder } from "./sidecar.js";

/** One case of tests/conformance; its README says what each part means. */
interface Vector {
  name: string;
  given: { descriptor: JsonValue; namespace?: string; generations?: string[]; semantic?: unknown };
  want: { bypass?: string; invalid?: string[]; anchor?: string; exact?: Keys; normalized?: Keys };
}

interface Keys {
  entry_id?: string;
  skipped?: string;
}

function read(name: string): unknown {
  return JSON.parse(readFileSync(vectorsFolder + name, "utf8"));
}

function vectors(): Vector[] {
  if (noVectors) return [];
  const files = readdirSync(vectorsFolder).filter((name) => name.endsWith(".json"));
  const others = ["rules.json", "streams.json"];
  const all = files
    .filter((name) => !others.includes(name))
    .flatMap((name) => (read(name) as { cases: Vector[] }).cases);
  return all.filter(({ given }) => given.generations === undefined && given.semantic === undefined);
}

/** Builds a descriptor with the types of this package. */
function descriptorOf(json: JsonValue): Descriptor {
  const { $typeName, content, embedding, ...said } = fromJson(RequestDescriptorSchema, json);
  const values = embedding && new Float32Array(embedding.values.slice().buffer);
  return {
    ...said,
    content: contentOf(content),
    embedding: embedding && { embedder: embedding.embedder, values: values ?? [] },
  };
}

function contentOf(content: RequestDescriptor["content"]): Content | undefined {
  if (content.case === "bodyJson") return { bodyJson: content.value };
  if (content.case === "parts") return { parts: content.value };
  return content.case === "digests" ? { digests: content.value } : undefined;
}

/** Returns a whole answer of the descriptor's endpoint. */
function answerTo({ dialect, endpoint, stream, content }: Descriptor): UpstreamResponse {
  const raw =
    content && "bodyJson" in content
      ? content.bodyJson
      : content && "parts" in content
        ? content.parts.params
        : undefined;
  const said = raw instanceof Uint8Array && raw.length > 0 ? JSON.parse(Buffer.from(raw).toString()) : {};
  const streamed = stream ?? (said as { stream?: boolean }).stream ?? false;
  const reason = dialect === "anthropic" ? "end_turn" : endpoint === "responses" ? "completed" : "stop";
  return {
    body: streamed ? 'data: {"answer":1}\n\n' : '{"answer":"Paris."}',
    contentType: streamed ? "text/event-stream" : "application/json",
    statusCode: 200,
    finishReasons: [reason],
    streamComplete: streamed,
  };
}

const skip = noSidecar || noVectors;
let sidecar: Sidecar;
let client: AskOnce;

before(async () => {
  if (skip) return;
  sidecar = await new Sidecar((read("rules.json") as { rules: unknown }).rules).run();
  client = new AskOnce(sidecar.target, { log: quiet, budgetMs: 90_000, storeTimeoutMs: 90_000 });
});

after(async () => {
  client?.close();
  await sidecar?.remove();
});

test("there are many vectors", { skip }, () => assert.ok(vectors().length >= 300));

for (const { name, given, want } of vectors()) {
  test(`the sidecar derives the same for this client: ${name}`, { skip }, async () => {
    const descriptor = descriptorOf(given.descriptor);
    const controls = { namespace: given.namespace };
    const look = () => client.lookup(descriptor, { controls, anchor: want.anchor !== undefined });
    if (want.exact !== undefined || want.normalized !== undefined) {
      const stored = await client.store(descriptor, answerTo(descriptor), { namespace: given.namespace });
      assert.ok(stored.stored, `${stored.refusalReason} ${stored.error?.message}`);
      const ids = new Map(stored.entries.map(({ kind, entryId }) => [kind, entryId]));
      assert.equal(ids.get("exact"), want.exact?.entry_id);
      assert.equal(ids.get("normalized"), want.normalized?.entry_id);
      assertFound(await look(), want);
      return;
    }
    const decision = await look();
    if (want.bypass !== undefined) assert.equal(decision.bypassReason?.toUpperCase(), want.bypass);
    assert.equal(decision.conversationAnchor, want.anchor ?? "");
    if (want.invalid !== undefined) {
      assert.equal(decision.error?.kind, "invalid_request");
      assert.deepEqual(
        decision.error.violations.map(({ field }) => field),
        want.invalid,
      );
    }
  });
}

/** Fails unless the first matcher with an entry found it, and those before it were skipped as the vector says. */
function assertFound(decision: Decision, want: Vector["want"]): void {
  const skipped = new Map(decision.skipped.map(({ matcher, reason }) => [matcher, reason?.toUpperCase()]));
  for (const kind of ["exact", "normalized"] as const) {
    const keys = want[kind];
    if (keys === undefined) continue;
    assert.equal(skipped.get(kind), keys.skipped);
    if (keys.entry_id === undefined) continue;
    assert.ok(decision.hit);
    assert.equal(decision.candidate.entryId, keys.entry_id);
    return;
  }
}
