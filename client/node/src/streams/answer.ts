import { bytesOf } from "../bytes.js";
import type { Api } from "./api.js";
import { isStream, kindOf, parseEvents, type StreamEvent } from "./events.js";
import {
  asCount,
  asObject,
  asObjects,
  asText,
  isBare,
  isNull,
  objectOf,
  parseObject,
  quoted,
  type RawObject,
  textOf,
  withMembers,
} from "./raw.js";

/** What a body says of itself. Whatever cannot be read stays unsaid. */
export interface Answer {
  /** It is a recorded stream. */
  stream: boolean;
  /** A stream came to its terminal event without an error. */
  complete: boolean;
  /** The body carries an error in spite of its status. */
  failed: boolean;
  /** One a choice, in the dialect's words; "null" stands for a choice that has none. */
  finishReasons: string[];
  /** Undefined when the body does not say it. */
  usage: { inputTokens: number; outputTokens: number } | undefined;
  toolCalls: boolean;
  /** The model refused. */
  refused: boolean;
}

/** Reads the answer of an endpoint, a document or a recorded stream. */
export function inspect(api: Api, body: string | Uint8Array): Answer {
  const bytes = bytesOf(body);
  const reader = new AnswerReader(isStream(bytes));
  if (!reader.answer.stream) {
    reader.document(api, parseObject(textOf(bytes) ?? "") ?? new Map());
    return reader.answer;
  }
  let events: StreamEvent[];
  try {
    events = parseEvents(bytes);
  } catch {
    return reader.answer;
  }
  if (api === "openai-chat") reader.chatStream(events);
  if (api === "openai-responses") reader.responsesStream(events);
  if (api === "anthropic-messages") reader.messagesStream(events);
  reader.answer.complete &&= !reader.answer.failed;
  return reader.answer;
}

class AnswerReader {
  readonly answer: Answer;

  constructor(stream: boolean) {
    this.answer = {
      stream,
      complete: false,
      failed: false,
      finishReasons: [],
      usage: undefined,
      toolCalls: false,
      refused: false,
    };
  }

  document(api: Api, root: RawObject): void {
    const { answer } = this;
    answer.failed = !isBare(root.get("error"));
    if (api === "openai-chat") {
      for (const choice of asObjects(root.get("choices")) ?? []) {
        answer.finishReasons.push(reasonOf(choice.get("finish_reason")));
        this.#chatMessage(asObject(choice.get("message")));
      }
      this.#usage(asObject(root.get("usage")), "prompt_tokens", "completion_tokens");
    } else if (api === "openai-responses") {
      this.#response(root);
    } else if (api === "anthropic-messages") {
      this.#stopped(reasonOf(root.get("stop_reason")));
      for (const block of asObjects(root.get("content")) ?? []) this.#block(block);
      this.#usage(asObject(root.get("usage")), "input_tokens", "output_tokens");
    }
  }

  chatStream(events: StreamEvent[]): void {
    const reasons: string[] = [];
    for (const { name, data } of events) {
      if (data === undefined) {
        this.answer.complete = true;
        break;
      }
      this.answer.failed ||= name === "error" || !isBare(data.get("error"));
      for (const [position, choice] of (asObjects(data.get("choices")) ?? []).entries()) {
        const index = asCount(choice.get("index")) ?? position;
        const said = reasonOf(choice.get("finish_reason"));
        if (index < MOST_CHOICES && (reasons[index] === undefined || said !== "null")) reasons[index] = said;
        this.#chatMessage(asObject(choice.get("delta")));
      }
      this.#usage(asObject(data.get("usage")), "prompt_tokens", "completion_tokens");
    }
    this.answer.finishReasons = Array.from(reasons, (said) => said ?? "null");
  }

  #chatMessage(message: RawObject | undefined): void {
    this.answer.toolCalls ||= !isBare(message?.get("tool_calls")) || !isBare(message?.get("function_call"));
    this.answer.refused ||= !isBare(message?.get("refusal"));
  }

  responsesStream(events: StreamEvent[]): void {
    for (const event of events) {
      const kind = kindOf(event);
      if (kind === "error") this.answer.failed = true;
      const [, status] = /^response\.(completed|incomplete|failed)$/.exec(kind) ?? [];
      if (status === undefined) continue;
      const said = asObject(event.data?.get("response")) ?? new Map();
      const root = isBare(said.get("status")) ? withMembers(said, { status: quoted(status) }) : said;
      this.answer.failed ||= !isBare(root.get("error"));
      this.#response(root);
      this.answer.complete = true;
      return;
    }
  }

  #response(root: RawObject): void {
    const details = asObject(root.get("incomplete_details"));
    const status = asText(details?.get("reason")) || asText(root.get("status"));
    if (status) this.answer.finishReasons = [status];
    this.answer.failed ||= status === "failed";
    for (const item of asObjects(root.get("output")) ?? []) {
      this.answer.toolCalls ||= asText(item.get("type")).endsWith("_call");
      const parts = asObjects(item.get("content")) ?? [];
      this.answer.refused ||= parts.some((part) => asText(part.get("type")) === "refusal");
    }
    this.#usage(asObject(root.get("usage")), "input_tokens", "output_tokens");
  }

  messagesStream(events: StreamEvent[]): void {
    let usage: RawObject = new Map();
    let stop = "null";
    for (const event of events) {
      const { data } = event;
      const kind = kindOf(event);
      if (kind === "error") this.answer.failed = true;
      else if (kind === "message_start") {
        usage = merged(usage, asObject(asObject(data?.get("message"))?.get("usage")));
      } else if (kind === "content_block_start") this.#block(asObject(data?.get("content_block")));
      else if (kind === "message_delta") {
        const said = reasonOf(asObject(data?.get("delta"))?.get("stop_reason"));
        if (said !== "null") stop = said;
        usage = merged(usage, asObject(data?.get("usage")));
      } else if (kind === "message_stop") this.answer.complete = true;
    }
    this.#stopped(stop);
    this.#usage(usage, "input_tokens", "output_tokens");
  }

  #block(block: RawObject | undefined): void {
    this.answer.toolCalls ||= asText(block?.get("type")).endsWith("tool_use");
  }

  #stopped(reason: string): void {
    this.answer.finishReasons = [reason];
    this.answer.refused = reason === "refusal";
  }

  #usage(members: RawObject | undefined, input: string, output: string): void {
    const inputTokens = asCount(members?.get(input));
    const outputTokens = asCount(members?.get(output));
    if (inputTokens !== undefined && outputTokens !== undefined) {
      this.answer.usage = { inputTokens, outputTokens };
    }
  }
}

/** Bounds what an index may ask for: no provider gives so many choices. */
const MOST_CHOICES = 1024;

/** Returns the members of both; those that are null in the later one stay as they were. */
export function merged(earlier: RawObject, later: RawObject = new Map()): RawObject {
  const changes = [...later].filter(([name, value]) => !isNull(value) || !earlier.has(name));
  return withMembers(earlier, objectOf(changes));
}

function reasonOf(raw: string | undefined): string {
  return asText(raw) || "null";
}
