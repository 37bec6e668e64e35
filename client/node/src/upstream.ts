import { bytesOf } from "./bytes.js";
import type { Usage } from "./decision.js";
import type { Target } from "./descriptor.js";
import { inspect } from "./streams/answer.js";
import type { Api } from "./streams/api.js";
import { asCount, asObject, parseObject, textOf } from "./streams/raw.js";

/**
 * An answer of the provider, with what must be known to store it. What is left unsaid counts against storing. Make one
 * with `fromOpenAIChat` and its siblings, which read it off the body.
 */
export interface UpstreamResponse {
  /** Is replayed unchanged. */
  body: string | Uint8Array;
  contentType?: string | undefined;
  /** The provider's HTTP status. Outside 200 to 299 nothing is stored. */
  statusCode: number;
  /** Those of every choice, in the dialect's words. */
  finishReasons?: readonly string[] | undefined;
  /** Whether the stream came to its terminal event. Required for streams. */
  streamComplete?: boolean | undefined;
  usage?: Usage | undefined;
  /** What the provider charged, in US dollars. Left out: unknown. */
  costUsd?: number | undefined;
  containsToolCalls?: boolean | undefined;
  /** The model refused. */
  refused?: boolean | undefined;
  outputGuardrailModified?: boolean | undefined;
  /** An output guardrail could not run and let the answer pass. */
  guardrailFailedOpen?: boolean | undefined;
  /** Whether the answer may be stored. Left out: it may. */
  cacheable?: boolean | undefined;
  /** The upstream that answered. Left out: as looked up. */
  served?: Target | undefined;
  fallbackUsed?: boolean | undefined;
  /** Is carried by a later hit. */
  sourceRequestId?: string | undefined;
  /** When the request to the provider began. Left out: when it was looked up. */
  requestStartTime?: Date | undefined;
}

/** An answer as it came, bytes or text, or the object that an SDK made of it, which is written as JSON. */
export type AnswerBody = string | Uint8Array | object;

/**
 * Reads an answer of POST /v1/chat/completions, a document or a recorded stream. What it cannot read stays unsaid,
 * which counts against storing; so it is with its siblings. Give it the bytes where you have them: an object does not
 * say how they were spelt.
 */
export function fromOpenAIChat(statusCode: number, body: AnswerBody): UpstreamResponse {
  return upstream("openai-chat", statusCode, body);
}

/** Reads an answer of POST /v1/responses. */
export function fromOpenAIResponses(statusCode: number, body: AnswerBody): UpstreamResponse {
  return upstream("openai-responses", statusCode, body);
}

/** Reads an answer of POST /v1/messages. */
export function fromAnthropicMessages(statusCode: number, body: AnswerBody): UpstreamResponse {
  return upstream("anthropic-messages", statusCode, body);
}

/** Reads an answer of POST /v1/embeddings. */
export function fromOpenAIEmbeddings(statusCode: number, answer: AnswerBody): UpstreamResponse {
  const body = written(answer);
  const usage = asObject(parseObject(textOf(bytesOf(body)) ?? "")?.get("usage"));
  const inputTokens = asCount(usage?.get("prompt_tokens"));
  return {
    body,
    contentType: "application/json",
    statusCode,
    usage: inputTokens === undefined ? undefined : { inputTokens, outputTokens: 0 },
  };
}

function written(answer: AnswerBody): string | Uint8Array {
  if (typeof answer === "string" || answer instanceof Uint8Array) return answer;
  return JSON.stringify(answer) ?? ""; // what is no object in spite of its type has no text, and is not stored
}

function upstream(api: Api, statusCode: number, given: AnswerBody): UpstreamResponse {
  const body = written(given);
  const answer = inspect(api, body);
  return {
    body,
    contentType: answer.stream ? "text/event-stream" : "application/json",
    statusCode,
    finishReasons: answer.finishReasons,
    streamComplete: answer.complete,
    usage: answer.usage,
    containsToolCalls: answer.toolCalls,
    refused: answer.refused,
    cacheable: answer.failed ? false : undefined,
  };
}
