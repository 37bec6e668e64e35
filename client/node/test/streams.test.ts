import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { type Api, frames, inspect, isStream, StreamError, toDocument, toEvents } from "askonce/streams";

import { text } from "./requests.js";
import { noVectors, vectorsFolder } from "./sidecar.js";

/** One case of tests/conformance/streams.json; the README beside it says what each part means. */
interface Vector {
  name: string;
  given: { api: Api; stream?: string; document?: unknown; include_usage?: boolean };
  want: {
    document?: unknown;
    events?: { event?: string; data: unknown }[];
    refused?: string;
    says?: Record<string, unknown> & { usage?: { input_tokens: number; output_tokens: number } | null };
  };
}

const cases = noVectors
  ? []
  : (JSON.parse(readFileSync(`${vectorsFolder}streams.json`, "utf8")) as { cases: Vector[] }).cases;

/** Returns what a JSON value says; so it is with the JSON inside a delta of one. */
function tree(value: unknown): unknown {
  const delta = (value as { delta?: { partial_json?: unknown } } | null)?.delta;
  if (typeof delta?.partial_json !== "string") return value;
  return {
    ...(value as object),
    delta: { ...delta, partial_json: JSON.parse(delta.partial_json) as unknown },
  };
}

function refusalOf(act: () => unknown): string {
  try {
    act();
    return "";
  } catch (thrown) {
    assert.ok(thrown instanceof StreamError, String(thrown));
    return thrown.kind;
  }
}

for (const { name, given, want } of cases) {
  if (given.stream !== undefined) {
    const stream = Buffer.from(given.stream);
    test(`a stream becomes a document: ${name}`, () => {
      const refused = refusalOf(() => toDocument(given.api, stream));
      assert.equal(refused, want.refused ?? "");
      if (!refused) assert.deepEqual(JSON.parse(text(toDocument(given.api, stream))), want.document);
      if (want.says) assertSays(given.api, stream, want.says);
      assert.equal(Buffer.concat(frames(stream)).toString(), given.stream);
    });
  } else {
    test(`a document becomes a stream: ${name}`, () => spread(given, want));
  }
}

function spread(given: Vector["given"], want: Vector["want"]): void {
  const document = Buffer.from(JSON.stringify(given.document));
  const options = { includeUsage: given.include_usage };
  const refused = refusalOf(() => toEvents(given.api, document, options));
  assert.equal(refused, want.refused ?? "");
  if (refused) return;
  const stream = toEvents(given.api, document, options);
  const events = frames(stream).map((frame) => {
    const [, event = "", data = ""] = /^(?:event: (.*)\n)?data: (.*)\n\n$/.exec(text(frame)) ?? [];
    return { event, data: data === "[DONE]" ? data : tree(JSON.parse(data)) };
  });
  assert.deepEqual(
    events,
    want.events?.map(({ event = "", data }) => ({ event, data: tree(data) })),
  );
  assert.ok(inspect(given.api, stream).complete);
  if (given.api === "openai-chat" && !given.include_usage) {
    assert.equal(
      refusalOf(() => toDocument(given.api, stream)),
      "lossy",
      "the usage is gone, and nobody says so",
    );
  } else {
    assert.deepEqual(JSON.parse(text(toDocument(given.api, stream))), given.document);
  }
}

function assertSays(api: Api, stream: Uint8Array, says: NonNullable<Vector["want"]["says"]>): void {
  const { usage } = says;
  assert.deepEqual(inspect(api, stream), {
    stream: true,
    complete: says["complete"] ?? false,
    failed: says["failed"] ?? false,
    finishReasons: says["finish_reasons"] ?? [],
    toolCalls: says["tool_calls"] ?? false,
    refused: says["refused"] ?? false,
    usage: usage ? { inputTokens: usage.input_tokens, outputTokens: usage.output_tokens } : undefined,
  });
}

test("there are vectors", { skip: noVectors }, () => assert.ok(cases.length >= 70));

test("numbers and escapes keep their spelling", () => {
  const stream = String.raw`data: {"id":"1","choices":[{"index":0,"delta":{"content":"\u00e9<"},"logprobs":{"content":[1e0,-0.0,1E400]}}]}

data: {"id":"1","choices":[{"index":0,"delta":{"content":"\ud83d"},"finish_reason":null}]}

data: {"id":"1","choices":[{"index":0,"delta":{"content":"\ude00, {\"[,]\\"},"finish_reason":"stop"}],"usage":{"n":12345678901234567890}}

data: [DONE]

`;
  const document = text(toDocument("openai-chat", Buffer.from(stream)));
  for (const spelling of [
    String.raw`"\u00e9<\ud83d\ude00, {\"[,]\\"`,
    "[1e0,-0.0,1E400]",
    "12345678901234567890",
  ]) {
    assert.ok(document.includes(spelling), `${spelling} is gone: ${document}`);
  }
});

test("a stream is known by how it begins", () => {
  for (const said of ["data: 1", "\ufeff event: x", ": comment", "\n\nretry: 1", "id: 1"]) {
    assert.ok(isStream(Buffer.from(said)), said);
  }
  for (const said of ["", "{}", "database: 1", '"data:"']) assert.ok(!isStream(Buffer.from(said)), said);
});

test("an API without streams has none", () => {
  const embeddings = "openai-embeddings" as Api;
  assert.equal(
    refusalOf(() => toDocument(embeddings, Buffer.from(""))),
    "not_understood",
  );
  assert.equal(
    refusalOf(() => toEvents(embeddings, Buffer.from("{}"))),
    "not_understood",
  );
});

test("a type that would break the framing is refused", () => {
  const item = { type: "message", content: [{ type: "x\n\ndata: {}", text: "y" }] };
  const document = { status: "completed", output: [item] };
  assert.equal(
    refusalOf(() => toEvents("openai-responses", Buffer.from(JSON.stringify(document)))),
    "lossy",
  );
});

/** Returns numbers in [0, 1) that are the same in every run (mulberry32). */
function chance(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

test("whatever a provider sends, what becomes a document can be read and nothing else is thrown", () => {
  const draw = chance(1);
  const apis: Api[] = ["openai-chat", "openai-responses", "anthropic-messages"];
  const seeds = cases.map(({ given }) => given.stream ?? JSON.stringify(given.document));
  for (let round = 0; round < 1000; round++) {
    const bytes = Buffer.from(seeds[Math.floor(draw() * seeds.length)] ?? "data: {}\n\n");
    for (let edit = 0; edit < 3; edit++) {
      const at = Math.floor(draw() * bytes.length);
      bytes[at] = draw() < 0.5 ? Math.floor(draw() * 256) : (bytes[Math.floor(draw() * bytes.length)] ?? 0);
    }
    assert.deepEqual(Buffer.concat(frames(bytes)), bytes);
    for (const api of apis) {
      inspect(api, bytes);
      if (!refusalOf(() => toDocument(api, bytes))) JSON.parse(text(toDocument(api, bytes)));
      refusalOf(() => toEvents(api, bytes, { includeUsage: true }));
    }
  }
});
