import { merged } from "./answer.js";
import { inOrder } from "./chat.js";
import { incomplete, lossy, notUnderstood } from "./errors.js";
import { type EventWriter, kindOf, type StreamEvent } from "./events.js";
import {
  asCount,
  asList,
  asObject,
  asObjects,
  asText,
  isBare,
  isNull,
  objectOf,
  parseObject,
  quoted,
  type RawObject,
  withMembers,
  writeList,
  writeObject,
} from "./raw.js";
import { Spoken } from "./spoken.js";

/** Per type of delta, its member, which is that of the block which it adds to. */
const deltas: Record<string, string> = {
  thinking_delta: "thinking",
  text_delta: "text",
  signature_delta: "signature",
};

/** Puts the events of an Anthropic message together. */
export function messagesDocument(events: StreamEvent[]): string {
  const answer = new MessageAnswer();
  for (const event of events) {
    const kind = kindOf(event);
    if (kind === "error") throw incomplete("it carries an error");
    if (kind === "message_stop") return answer.document();
    answer.add(kind, event.data ?? new Map());
  }
  throw incomplete("message_stop is missing");
}

class MessageAnswer {
  #message: RawObject | undefined;
  readonly #blocks = new Map<number, MessageBlock>();

  add(kind: string, data: RawObject): void {
    if (kind === "ping") return;
    if (kind === "message_start") {
      this.#message = asObject(data.get("message"));
      if (this.#message === undefined) throw notUnderstood("message_start has no message");
    } else if (kind === "message_delta") this.#addDelta(data);
    else if (kind.startsWith("content_block_")) this.#addToBlock(kind, data);
    else throw lossy(`there is an event "${kind}"`);
  }

  #addToBlock(kind: string, data: RawObject): void {
    const index = asCount(data.get("index"));
    const block = index === undefined ? undefined : this.#blocks.get(index);
    if (index === undefined || (block === undefined) !== (kind === "content_block_start")) {
      throw notUnderstood(`${kind} is out of order`);
    }
    if (block === undefined) {
      const started = asObject(data.get("content_block"));
      if (started === undefined) throw notUnderstood("a block is no object");
      this.#blocks.set(index, new MessageBlock(started));
    } else if (kind === "content_block_delta") block.add(asObject(data.get("delta")) ?? new Map());
    else if (kind === "content_block_stop") block.stopped = true;
    else throw lossy(`there is an event "${kind}"`);
  }

  #addDelta(data: RawObject): void {
    const message = this.#message;
    if (message === undefined) throw notUnderstood("message_delta is out of order");
    for (const [name, value] of data) {
      if (name === "type") continue;
      if (name === "usage") {
        const usage = merged(asObject(message.get("usage")) ?? new Map(), asObject(value));
        message.set("usage", writeObject(usage));
      } else if (name === "context_management") message.set(name, value);
      else if (name === "delta") {
        for (const [member, said] of merged(message, asObject(value))) message.set(member, said);
      } else if (!isBare(value)) throw lossy(`message_delta has "${name}"`);
    }
  }

  document(): string {
    if (this.#message === undefined) throw notUnderstood("message_start is missing");
    if (isNull(this.#message.get("stop_reason"))) throw incomplete("there is no stop reason");
    const content = writeList(inOrder(this.#blocks).map(([, block]) => block.document()));
    return writeObject(withMembers(this.#message, { content }));
  }
}

/** One content block, put together from its deltas. */
class MessageBlock {
  stopped = false;
  readonly #spoken = new Map<string, Spoken>();
  readonly #citations: string[] = [];
  readonly #input = new Spoken();

  constructor(private readonly start: RawObject) {}

  add(delta: RawObject): void {
    const kind = asText(delta.get("type"));
    const member = Object.hasOwn(deltas, kind) ? deltas[kind] : undefined;
    if (member !== undefined) this.#addText(kind, member, delta.get(member));
    else if (kind === "input_json_delta") {
      if (!this.#input.add(delta.get("partial_json"))) throw lossy("partial_json is no text");
    } else if (kind === "citations_delta") this.#citations.push(delta.get("citation") ?? "null");
    else throw lossy(`there is a delta "${kind}"`);
  }

  #addText(kind: string, member: string, piece: string | undefined): void {
    let spoken = this.#spoken.get(member);
    if (spoken === undefined) {
      spoken = new Spoken();
      spoken.add(this.start.get(member));
      this.#spoken.set(member, spoken);
    }
    if (isNull(piece) || !spoken.add(piece)) throw lossy(`a ${kind} has no text`);
  }

  document(): string {
    if (!this.stopped) throw incomplete("a block did not come to its end");
    const block = objectOf(this.start);
    for (const [name, spoken] of this.#spoken) block.set(name, spoken.raw());
    if (this.#citations.length > 0) {
      block.set("citations", writeList([...(asList(block.get("citations")) ?? []), ...this.#citations]));
    }
    const input = asText(this.#input.raw());
    if (input !== "") {
      if (parseObject(input) === undefined) throw lossy("the input of a tool call is no JSON object");
      block.set("input", input);
    }
    return writeObject(block);
  }
}

/** Writes an Anthropic message as events. */
export function messagesEvents(out: EventWriter, root: RawObject): void {
  const blocks = asObjects(root.get("content"));
  if (blocks === undefined) throw notUnderstood("there is no content");
  const stopReason = root.get("stop_reason");
  if (stopReason === undefined || isNull(stopReason)) throw incomplete("there is no stop reason");
  const start = withMembers(root, { content: "[]", stop_reason: "null", stop_sequence: "null" });
  const delta = objectOf({ stop_reason: stopReason, stop_sequence: "null" });
  for (const name of ["stop_sequence", "container", "stop_details"]) {
    const said = root.get(name);
    if (said === undefined) continue;
    delta.set(name, said);
    start.set(name, "null");
  }
  const ending: Record<string, string> = { delta: writeObject(delta) };
  const usage = asObject(root.get("usage"));
  if (usage !== undefined) {
    ending["usage"] = writeObject(usage);
    start.set("usage", writeObject(withMembers(usage, { output_tokens: "0" })));
  }
  const management = root.get("context_management");
  if (management !== undefined) {
    ending["context_management"] = management;
    start.delete("context_management");
  }
  out.typed("message_start", { message: writeObject(start) });
  for (const [index, block] of blocks.entries()) blockEvents(out, String(index), block);
  out.typed("message_delta", ending);
  out.typed("message_stop");
}

/** Writes a content block: what is streamed in deltas, and everything else whole at its start. */
function blockEvents(out: EventWriter, index: string, block: RawObject): void {
  const start = objectOf(block);
  const pieces: string[] = [];
  for (const [kind, member] of Object.entries(deltas)) {
    const value = block.get(member);
    if (value === undefined || asText(value) === "") continue;
    start.set(member, '""');
    pieces.push(writeObject({ type: quoted(kind), [member]: value }));
  }
  const citations = asList(block.get("citations")) ?? [];
  if (citations.length > 0) start.set("citations", "[]");
  for (const citation of citations) pieces.push(writeObject({ type: '"citations_delta"', citation }));
  const input = block.get("input");
  if (asText(block.get("type")).endsWith("tool_use") && input !== undefined && !isBare(input)) {
    start.set("input", "{}");
    pieces.push(writeObject({ type: '"input_json_delta"', partial_json: quoted(input) }));
  }
  out.typed("content_block_start", { index, content_block: writeObject(start) });
  for (const delta of pieces) out.typed("content_block_delta", { index, delta });
  out.typed("content_block_stop", { index });
}
