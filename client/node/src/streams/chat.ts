import { ChatCall } from "./chat_call.js";
import { incomplete, lossy, notUnderstood } from "./errors.js";
import type { StreamEvent } from "./events.js";
import {
  asCount,
  asList,
  asObject,
  asObjects,
  isBare,
  isNull,
  objectOf,
  type RawObject,
  writeList,
  writeObject,
} from "./raw.js";
import { Spoken } from "./spoken.js";

// What a chunk, a choice and a delta may have besides what is put together by hand. Whatever else they have and is not
// bare would be lost, so it refuses.
export const chunkMembers = ["id", "created", "model", "service_tier", "system_fingerprint"];
export const chunkDropped = ["object", "choices", "usage", "obfuscation"];
export const spokenMembers = ["content", "refusal", "reasoning_content", "reasoning"];

/** Puts the chunks of a chat together. */
export function chatDocument(events: StreamEvent[]): string {
  const answer = new ChatAnswer();
  for (const { name, data } of events) {
    if (data === undefined) return answer.document();
    if (name === "error" || !isBare(data.get("error"))) throw incomplete("it carries an error");
    answer.add(data);
  }
  throw incomplete("[DONE] is missing");
}

class ChatAnswer {
  readonly #root: RawObject = objectOf({ object: '"chat.completion"' });
  readonly #choices = new Map<number, ChatChoice>();

  add(chunk: RawObject): void {
    for (const [name, value] of chunk) {
      if (isBare(value) || chunkDropped.includes(name)) continue;
      if (!chunkMembers.includes(name)) throw lossy(`a chunk has "${name}"`);
      const told = this.#root.get(name);
      if ((name === "id" || name === "model") && told !== undefined && told !== value) {
        throw lossy(`chunks differ in "${name}"`);
      }
      this.#root.set(name, value);
    }
    const usage = chunk.get("usage");
    if (usage !== undefined && !isNull(usage)) this.#root.set("usage", usage);
    const choices = asObjects(chunk.get("choices"));
    if (choices === undefined) throw notUnderstood("a chunk has no choices");
    for (const choice of choices) {
      const index = asCount(choice.get("index"));
      if (index === undefined) throw notUnderstood("a choice has no index");
      const known = this.#choices.get(index) ?? new ChatChoice();
      this.#choices.set(index, known);
      known.add(choice);
    }
  }

  document(): string {
    if (this.#choices.size === 0) throw notUnderstood("there are no choices");
    if (!this.#root.has("usage")) throw lossy("the stream has no usage, which a document always has");
    const choices = inOrder(this.#choices).map(([index, choice]) => choice.document(index));
    this.#root.set("choices", writeList(choices));
    return writeObject(this.#root);
  }
}

/** One choice, put together from its deltas. */
class ChatChoice {
  #role: string | undefined;
  #finish: string | undefined;
  #function: ChatCall | undefined;
  #logprobs: Map<string, string[]> | undefined;
  readonly #spoken = new Map<string, Spoken>();
  readonly #calls = new Map<number, ChatCall>();
  readonly #annotations: string[] = [];

  add(choice: RawObject): void {
    for (const [name, value] of choice) {
      if (name === "index" || name === "delta") continue;
      if (name === "finish_reason") {
        if (!isNull(value)) this.#finish = value;
      } else if (name === "logprobs") this.#addLogprobs(value);
      else if (!isBare(value)) throw lossy(`a choice has "${name}"`);
    }
    for (const [name, value] of asObject(choice.get("delta")) ?? []) this.#addDelta(name, value);
  }

  #addDelta(name: string, value: string): void {
    if (spokenMembers.includes(name)) {
      const spoken = this.#spoken.get(name) ?? new Spoken();
      this.#spoken.set(name, spoken);
      if (!spoken.add(value)) throw lossy(`"${name}" is no text`);
    } else if (isBare(value)) {
      return;
    } else if (name === "role") this.#role = value;
    else if (name === "tool_calls") this.#addCalls(value);
    else if (name === "function_call") (this.#function ??= new ChatCall()).addFunction(value);
    else if (name === "annotations") {
      const items = asList(value);
      if (items === undefined) throw lossy("annotations are no list");
      this.#annotations.push(...items);
    } else throw lossy(`a delta has "${name}"`);
  }

  #addLogprobs(raw: string): void {
    if (isNull(raw)) return;
    const kinds = asObject(raw);
    if (kinds === undefined) throw lossy("logprobs are no object");
    this.#logprobs ??= new Map();
    for (const [name, value] of kinds) {
      const tokens = asList(value);
      if ((name !== "content" && name !== "refusal") || (tokens === undefined && !isNull(value))) {
        throw lossy(`logprobs have "${name}"`);
      }
      if (tokens !== undefined) this.#logprobs.set(name, [...(this.#logprobs.get(name) ?? []), ...tokens]);
    }
  }

  #addCalls(raw: string): void {
    const calls = asObjects(raw);
    if (calls === undefined) throw lossy("tool calls are no list of objects");
    for (const call of calls) {
      const index = asCount(call.get("index"));
      if (index === undefined) throw lossy("a tool call has no index");
      const known = this.#calls.get(index) ?? new ChatCall();
      this.#calls.set(index, known);
      known.add(call);
    }
  }

  document(index: number): string {
    if (this.#finish === undefined) throw incomplete("a choice has no finish reason");
    const message = objectOf({ role: this.#role ?? '"assistant"', content: "null", refusal: "null" });
    for (const [name, spoken] of this.#spoken) {
      if (spoken.said || message.has(name)) message.set(name, spoken.raw());
    }
    if (this.#annotations.length > 0) message.set("annotations", writeList(this.#annotations));
    if (this.#calls.size > 0) {
      message.set("tool_calls", writeList(inOrder(this.#calls).map(([, call]) => call.document())));
      // A message that only calls tools has no content; some streams begin it with an empty one.
      if (this.#spoken.get("content")?.isEmpty) message.set("content", "null");
    }
    if (this.#function !== undefined) message.set("function_call", this.#function.spoken());
    return writeObject({
      index: String(index),
      message: writeObject(message),
      logprobs: this.#logprobsDocument(),
      finish_reason: this.#finish,
    });
  }

  #logprobsDocument(): string {
    if (this.#logprobs === undefined) return "null";
    const tokens = [...this.#logprobs].map(([name, all]) => [name, writeList(all)] as const);
    return writeObject(objectOf([["content", "null"], ["refusal", "null"], ...tokens]));
  }
}

/** Returns the entries in the order of their numbers. */
export function inOrder<V>(values: Map<number, V>): [number, V][] {
  return [...values].sort(([one], [other]) => one - other);
}
