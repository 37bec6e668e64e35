// Asks through the official SDKs for Node: of two identical calls one reaches the provider, and the objects are equal.
// It is started by test_sdks_node.py, which says where the fake provider is, and the gateway or, where it is the SDKs'
// fetch that has the cache, the sidecar.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

const { GATEWAY_URL, PROVIDER_URL, SIDECAR } = process.env;
const baseURL = GATEWAY_URL ?? PROVIDER_URL;
const cached = SIDECAR && (await import("./cached.js")).cached(SIDECAR);
const settings = { apiKey: "sk-acme", maxRetries: 0, ...cached };
const gpt = new OpenAI({ baseURL: `${baseURL}/v1`, ...settings });
const claude = new Anthropic({ baseURL, ...settings });

after(() => cached?.cache.close());

const question = "What is the weather in Paris?";
const messages = [{ role: "user", content: question }];
const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const weather = { name: "weather", description: "Tells the weather.", parameters: schema };

async function provider(method, path, body) {
  const answer = await fetch(PROVIDER_URL + path, { method, body: body && JSON.stringify(body) });
  return answer.json();
}

/** Asks twice, while the provider behaves so, and returns the answer. */
async function twice(ask, behaviour = {}) {
  await provider("POST", "/control", behaviour);
  await provider("DELETE", "/calls");
  const first = plain(await ask());
  const second = plain(await ask());
  assert.deepEqual(second, first);
  assert.equal((await provider("GET", "/calls")).length, 1);
  return first;
}

function plain(value) {
  return JSON.parse(JSON.stringify(value));
}

async function all(stream) {
  const events = [];
  for await (const event of await stream) events.push(event);
  return events;
}

test("chat", async () => {
  const answer = await twice(() => gpt.chat.completions.create({ model: "smart", messages }));
  assert.ok(answer.choices[0].message.content.endsWith(question));
  assert.equal(answer.usage.total_tokens, 13);
});

test("chat streamed", async () => {
  const options = { include_usage: true };
  const chunks = await twice(() =>
    all(gpt.chat.completions.create({ model: "smart", messages, stream: true, stream_options: options })),
  );
  const said = chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("");
  assert.ok(said.endsWith(question));
  assert.equal(chunks.at(-1).usage.total_tokens, 13);
});

test("chat with tools", async () => {
  const tools = [{ type: "function", function: weather }];
  const ask = () => gpt.chat.completions.create({ model: "smart", messages, tools });
  const answer = await twice(ask, { tool_call: true });
  assert.deepEqual(JSON.parse(answer.choices[0].message.tool_calls[0].function.arguments), { city: "Paris" });
});

test("chat with tools streamed through the SDK's accumulator", async () => {
  const tools = [{ type: "function", function: weather }];
  const ask = () => gpt.chat.completions.stream({ model: "smart", messages, tools }).finalChatCompletion();
  const answer = await twice(ask, { tool_call: true });
  assert.deepEqual(JSON.parse(answer.choices[0].message.tool_calls[0].function.arguments), { city: "Paris" });
});

test("chat with structured output", async () => {
  const response_format = { type: "json_schema", json_schema: { name: "place", schema } };
  const answer = await twice(() => gpt.chat.completions.create({ model: "smart", messages, response_format }));
  assert.equal(JSON.parse(answer.choices[0].message.content).city, "Paris");
});

test("responses", async () => {
  const answer = await twice(() => gpt.responses.create({ model: "smart", input: question, store: false }));
  assert.ok(answer.output_text.endsWith(question));
});

test("responses streamed", async () => {
  const events = await twice(() =>
    all(gpt.responses.create({ model: "smart", input: question, store: false, stream: true })),
  );
  assert.equal(events.at(-1).type, "response.completed");
  assert.ok(events.at(-1).response.output[1].content[0].text.endsWith(question));
});

test("responses with tools", async () => {
  const tools = [{ type: "function", strict: true, ...weather }];
  const ask = () => gpt.responses.create({ model: "smart", input: question, tools, store: false });
  const answer = await twice(ask, { tool_call: true });
  assert.deepEqual(JSON.parse(answer.output[0].arguments), { city: "Paris" });
});

for (const encoding_format of [undefined, "float"]) {
  test(`embeddings, ${encoding_format ?? "as the SDK asks for them"}`, async () => {
    const answer = await twice(() => gpt.embeddings.create({ model: "embed", input: ["a", "b"], encoding_format }));
    assert.deepEqual(
      answer.data.map(({ embedding }) => embedding.length),
      [4, 4],
    );
  });
}

test("messages", async () => {
  const answer = await twice(() => claude.messages.create({ model: "claude", max_tokens: 99, messages }));
  assert.ok(answer.content[0].text.endsWith(question));
});

test("messages streamed, with thinking", async () => {
  const thinking = { type: "enabled", budget_tokens: 1024 };
  const ask = () => claude.messages.stream({ model: "claude", max_tokens: 2048, messages, thinking }).finalMessage();
  const answer = await twice(ask);
  assert.deepEqual(
    answer.content.map(({ type }) => type),
    ["thinking", "text"],
  );
});

for (const stream of [false, true]) {
  test(`messages with tools${stream ? ", streamed" : ""}`, async () => {
    const { parameters: input_schema, ...tool } = weather;
    const given = { model: "claude", max_tokens: 99, messages, tools: [{ ...tool, input_schema }] };
    const ask = () => (stream ? claude.messages.stream(given).finalMessage() : claude.messages.create(given));
    const answer = await twice(ask, { tool_call: true });
    assert.deepEqual(answer.content[0].input, { city: "Paris" });
  });
}
