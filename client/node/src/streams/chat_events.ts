import { chunkDropped, chunkMembers, spokenMembers } from "./chat.js";
import { ChatCall } from "./chat_call.js";
import { incomplete, lossy, notUnderstood } from "./errors.js";
import type { EventWriter } from "./events.js";
import {
  asCount,
  asObject,
  asObjects,
  isBare,
  isNull,
  objectOf,
  type RawObject,
  withMembers,
  writeList,
  writeObject,
} from "./raw.js";
import { Spoken } from "./spoken.js";

/** Writes a chat completion as chunks. */
export function chatEvents(out: EventWriter, root: RawObject, includeUsage: boolean): void {
  const chunk = objectOf({ object: '"chat.completion.chunk"' });
  for (const [name, value] of root) {
    if (chunkMembers.includes(name)) chunk.set(name, value);
    else if (!isBare(value) && !chunkDropped.includes(name)) throw lossy(`the document has "${name}"`);
  }
  const choices = asObjects(root.get("choices"));
  if (choices === undefined || choices.length === 0) throw notUnderstood("there are no choices");
  const usage = root.get("usage") ?? "null";
  if (includeUsage) {
    if (isNull(usage)) throw lossy("the document has no usage, which the stream must have");
    chunk.set("usage", "null");
  }
  for (const [position, choice] of choices.entries()) {
    new ChoiceEvents(out, chunk, asCount(choice.get("index")) ?? position).write(choice);
  }
  if (includeUsage) out.event("", writeObject(withMembers(chunk, { choices: "[]", usage })));
  out.event("", "[DONE]");
}

/** Writes one choice as chunks. */
class ChoiceEvents {
  constructor(
    private readonly out: EventWriter,
    private readonly chunk: RawObject,
    private readonly index: number,
  ) {}

  #send(delta: Record<string, string>, logprobs = "null", finish = "null"): void {
    const choice = writeObject({
      index: String(this.index),
      delta: writeObject(delta),
      logprobs,
      finish_reason: finish,
    });
    this.out.event("", writeObject(withMembers(this.chunk, { choices: writeList([choice]) })));
  }

  write(choice: RawObject): void {
    for (const [name, value] of choice) {
      if (["index", "message", "logprobs", "finish_reason"].includes(name) || isBare(value)) continue;
      throw lossy(`a choice has "${name}"`);
    }
    const message = asObject(choice.get("message"));
    if (message === undefined) throw notUnderstood("a choice has no message");
    const logprobs = asObject(choice.get("logprobs"));
    if (logprobs === undefined && !isNull(choice.get("logprobs"))) throw lossy("logprobs are no object");
    const content = isNull(message.get("content")) ? "null" : '""';
    this.#send({ role: message.get("role") ?? "null", content, refusal: "null" });
    this.#writeMessage(message, logprobs ?? new Map());
    const finish = choice.get("finish_reason");
    if (isNull(finish)) throw incomplete("a choice has no finish reason");
    this.#send({}, "null", finish);
  }

  /** Writes what the message says, reasoning first, since it was thought first. */
  #writeMessage(message: RawObject, logprobs: RawObject): void {
    const known = ["role", "tool_calls", "function_call", "annotations", ...spokenMembers];
    for (const [name, value] of message) {
      if (!known.includes(name) && !isBare(value)) throw lossy(`a message has "${name}"`);
    }
    for (const [name, value] of logprobs) {
      if (name !== "content" && name !== "refusal" && !isBare(value)) throw lossy(`logprobs have "${name}"`);
    }
    for (const name of ["reasoning_content", "reasoning", "content", "refusal"]) {
      const value = message.get(name) ?? "null";
      const tokens = logprobs.get(name);
      const other = name === "content" ? "refusal" : "content";
      const told =
        tokens === undefined || isNull(tokens) ? "null" : writeObject({ [name]: tokens, [other]: "null" });
      if (isBare(value) && told === "null") continue;
      if (!new Spoken().add(value)) throw lossy(`"${name}" is no text`);
      this.#send({ [name]: value }, told);
    }
    for (const name of ["annotations", "function_call"]) {
      const value = message.get(name);
      if (value !== undefined && !isBare(value)) this.#send({ [name]: value });
    }
    this.#writeCalls(message.get("tool_calls"));
  }

  #writeCalls(raw: string | undefined): void {
    if (isBare(raw)) return;
    const calls = asObjects(raw);
    if (calls === undefined) throw lossy("tool calls are no list of objects");
    for (const [position, call] of calls.entries()) {
      new ChatCall().add(call); // refuses what would be lost
      const indexed = withMembers(call, { index: String(position) });
      this.#send({ tool_calls: writeList([writeObject(indexed)]) });
    }
  }
}
