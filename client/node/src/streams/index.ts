/**
 * Recorded answers of providers: as one JSON document, or as the server-sent events of a stream. Says whether an answer
 * is whole, turns a stream into the document that the provider would have sent instead, and a document into a stream,
 * but only where nothing is lost. Numbers and strings keep their spelling.
 */

import { bytesOf } from "../bytes.js";
import type { Api } from "./api.js";
import { chatDocument } from "./chat.js";
import { chatEvents } from "./chat_events.js";
import { notUnderstood } from "./errors.js";
import { EventWriter, parseEvents } from "./events.js";
import { messagesDocument, messagesEvents } from "./messages.js";
import { parseObject, textOf } from "./raw.js";
import { responsesDocument, responsesEvents } from "./responses.js";

export { type Answer, inspect } from "./answer.js";
export type { Api } from "./api.js";
export { StreamError, type StreamErrorKind } from "./errors.js";
export { frames, isStream } from "./events.js";
export { parseObject, type RawObject, writeObject } from "./raw.js";

/** What a caller asked of its stream. */
export interface EventOptions {
  /** OpenAI's stream_options.include_usage: whether the last chunk of a chat has the usage. */
  includeUsage?: boolean | undefined;
}

/** Turns a recorded stream into the document that the provider would have sent instead. Throws a StreamError. */
export function toDocument(api: Api, stream: Uint8Array): Uint8Array {
  const events = parseEvents(stream);
  if (api === "openai-chat") return bytesOf(chatDocument(events));
  if (api === "openai-responses") return bytesOf(responsesDocument(events));
  if (api === "anthropic-messages") return bytesOf(messagesDocument(events));
  throw notUnderstood(`${String(api)} has no streams`);
}

/** Turns a document into a stream that says the same. Throws a StreamError. */
export function toEvents(api: Api, document: Uint8Array, options: EventOptions = {}): Uint8Array {
  const root = parseObject(textOf(document) ?? "");
  if (root === undefined) throw notUnderstood("the document is no object");
  const out = new EventWriter();
  if (api === "openai-chat") chatEvents(out, root, options.includeUsage ?? false);
  else if (api === "openai-responses") responsesEvents(out, root);
  else if (api === "anthropic-messages") messagesEvents(out, root);
  else throw notUnderstood(`${String(api)} has no streams`);
  return bytesOf(out.text());
}
