import { incomplete, lossy, notUnderstood } from "./errors.js";
import { type EventWriter, kindOf, type StreamEvent } from "./events.js";
import {
  asList,
  asObject,
  asObjects,
  asText,
  isBare,
  isNull,
  objectOf,
  type RawObject,
  withMembers,
  writeObject,
} from "./raw.js";

/** Takes the response out of the terminal event, which has it whole. */
export function responsesDocument(events: StreamEvent[]): string {
  let items = 0;
  for (const event of events) {
    const kind = kindOf(event);
    if (kind === "error" || kind === "response.failed") throw incomplete("it carries an error");
    if (kind === "response.output_item.done") items++;
    if (kind !== "response.completed" && kind !== "response.incomplete") continue;
    const raw = event.data?.get("response");
    const response = asObject(raw);
    if (raw === undefined || response === undefined)
      throw notUnderstood("the terminal event has no response");
    if (asList(response.get("output"))?.length !== items) {
      throw lossy("the terminal event does not have every output item");
    }
    if (isNull(response.get("usage"))) throw lossy("the stream has no usage, which a document always has");
    return raw;
  }
  throw incomplete("the terminal event is missing");
}

/** Writes a response as events. */
export function responsesEvents(out: EventWriter, root: RawObject): void {
  const items = asObjects(root.get("output"));
  if (items === undefined) throw notUnderstood("there is no output");
  const status = asText(root.get("status"));
  if (status !== "completed" && status !== "incomplete") throw incomplete(`its status is "${status}"`);
  const events = new ResponseEvents(out);
  const begun = withMembers(root, { status: '"in_progress"', output: "[]", usage: "null" });
  if (root.has("completed_at")) begun.set("completed_at", "null");
  events.send("response.created", { response: writeObject(begun) });
  events.send("response.in_progress", { response: writeObject(begun) });
  for (const [index, item] of items.entries()) events.item(String(index), item);
  events.send(`response.${status}`, { response: writeObject(root) });
}

type Place = Record<string, string | undefined>;

/** Numbers the events of one response. */
class ResponseEvents {
  #sequence = 0;

  constructor(private readonly out: EventWriter) {}

  send(kind: string, data: Place): void {
    this.out.typed(kind, { ...data, sequence_number: String(this.#sequence++) });
  }

  /** Writes an output item: what is streamed in deltas, and everything else whole at its start and its end. */
  item(index: string, item: RawObject): void {
    const kind = asText(item.get("type"));
    this.send("response.output_item.added", {
      output_index: index,
      item: writeObject(begunItem(kind, item)),
    });
    const place = { output_index: index, item_id: item.get("id") };
    if (kind === "message") this.#parts(place, item.get("content"));
    if (kind === "reasoning") {
      this.#summary(place, item.get("summary"));
      this.#parts(place, item.get("content"));
    }
    if (kind === "function_call") {
      const said = item.get("arguments");
      this.send("response.function_call_arguments.delta", { ...place, delta: said });
      const done = { ...place, arguments: said, name: item.get("name") };
      this.send("response.function_call_arguments.done", done);
    }
    if (kind === "custom_tool_call") {
      const input = item.get("input");
      this.send("response.custom_tool_call_input.delta", { ...place, delta: input });
      this.send("response.custom_tool_call_input.done", { ...place, input });
    }
    this.send("response.output_item.done", { output_index: index, item: writeObject(item) });
  }

  /** Writes the content of a message or of reasoning. */
  #parts(place: Place, raw: string | undefined): void {
    for (const [index, part] of (asObjects(raw) ?? []).entries()) {
      const here = { ...place, content_index: String(index) };
      const kind = asText(part.get("type"));
      const member = kind === "refusal" ? "refusal" : "text";
      const begun = withMembers(part, { [member]: '""' });
      for (const name of ["annotations", "logprobs"]) if (!isBare(part.get(name))) begun.set(name, "[]");
      this.send("response.content_part.added", { ...here, part: writeObject(begun) });
      const extra = part.has("logprobs") ? { logprobs: part.get("logprobs") } : {};
      const said = part.get(member);
      if (!isBare(said)) this.send(`response.${kind}.delta`, { ...here, ...extra, delta: said });
      for (const [number, annotation] of (asList(part.get("annotations")) ?? []).entries()) {
        const added = { annotation, annotation_index: String(number) };
        this.send(`response.${kind}.annotation.added`, { ...here, ...added });
      }
      this.send(`response.${kind}.done`, { ...here, ...extra, [member]: said });
      this.send("response.content_part.done", { ...here, part: writeObject(part) });
    }
  }

  #summary(place: Place, raw: string | undefined): void {
    for (const [index, part] of (asObjects(raw) ?? []).entries()) {
      const here = { ...place, summary_index: String(index) };
      const text = part.get("text");
      const begun = writeObject(withMembers(part, { text: '""' }));
      this.send("response.reasoning_summary_part.added", { ...here, part: begun });
      this.send("response.reasoning_summary_text.delta", { ...here, delta: text });
      this.send("response.reasoning_summary_text.done", { ...here, text });
      this.send("response.reasoning_summary_part.done", { ...here, part: writeObject(part) });
    }
  }
}

/** Returns an output item as it is before anything of it was streamed. */
function begunItem(kind: string, item: RawObject): RawObject {
  const begun = objectOf(item);
  if (!isNull(item.get("status"))) begun.set("status", '"in_progress"');
  if (kind === "message" || kind === "reasoning") {
    for (const name of ["content", "summary"]) if (!isBare(item.get(name))) begun.set(name, "[]");
  }
  if (kind === "function_call") begun.set("arguments", '""');
  if (kind === "custom_tool_call") begun.set("input", '""');
  return begun;
}
