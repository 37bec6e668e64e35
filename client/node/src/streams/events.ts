import { lossy, notUnderstood } from "./errors.js";
import { asText, isJson, objectOf, parseObject, quoted, type RawObject, textOf, writeObject } from "./raw.js";

/** One server-sent event that has data; `data` is undefined for OpenAI's [DONE]. */
export interface StreamEvent {
  name: string;
  data: RawObject | undefined;
}

/** Returns an event's type: as its data says, else by its name. */
export function kindOf({ name, data }: StreamEvent): string {
  return asText(data?.get("type")) || name;
}

/** Says whether a body is a recorded stream of events; what it says of itself outweighs any content type. */
export function isStream(body: Uint8Array): boolean {
  let at = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? 3 : 0;
  while (at < body.length && isSpace(body[at])) at++;
  return /^(data:|event:|id:|retry:|:)/.test(latin1(body.subarray(at, at + 8)));
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || (byte !== undefined && byte >= 0x09 && byte <= 0x0d);
}

/** Returns a character a byte, so that places in the text are places in the bytes. */
function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
}

/**
 * Cuts a recorded stream into its frames, each with the blank line that ends it. Joined, they are the stream again,
 * byte for byte.
 */
export function frames(stream: Uint8Array): Uint8Array[] {
  let start = 0;
  return cut(latin1(stream)).map((frame) => stream.subarray(start, (start += frame.length)));
}

/** Cuts behind each blank line. Lines end with LF, CR LF or CR. */
function cut(stream: string): string[] {
  const found: string[] = [];
  const blankLine = /(?:\r\n|\n|\r)(?:\r\n|\n|\r)/g;
  let start = 0;
  while (blankLine.exec(stream) !== null) {
    found.push(stream.slice(start, blankLine.lastIndex));
    start = blankLine.lastIndex;
  }
  return start < stream.length ? [...found, stream.slice(start)] : found;
}

/**
 * Reads server-sent events (WHATWG HTML, section 9.2). Events without data are left out, and so is one that was cut at
 * the end of the stream. Throws `not_understood` at data that is neither an object nor [DONE].
 */
export function parseEvents(stream: Uint8Array): StreamEvent[] {
  const text = textOf(stream);
  if (text === undefined) throw notUnderstood("the stream is not UTF-8");
  const found: StreamEvent[] = [];
  const all = cut(text);
  for (const [position, frame] of all.entries()) {
    const { name, data } = fieldsOf(frame);
    if (data === "") continue;
    const members = data === "[DONE]" ? undefined : parseObject(data);
    if (members !== undefined || data === "[DONE]") found.push({ name, data: members });
    else if (isJson(data) || position < all.length - 1) throw notUnderstood("an event is no JSON object");
  }
  return found;
}

/** Returns the name and the joined data lines of one frame. */
function fieldsOf(frame: string): { name: string; data: string } {
  let name = "";
  const data: string[] = [];
  for (const line of frame.split(/\r\n|\n|\r/)) {
    const [, field, value = ""] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (field === "event") name = value;
    if (field === "data") data.push(value);
  }
  return { name, data: data.join("\n").trim() };
}

/** Writes server-sent events. */
export class EventWriter {
  readonly #frames: string[] = [];

  event(name: string, data: string): void {
    this.#frames.push(`${name ? `event: ${name}\n` : ""}data: ${data}\n\n`);
  }

  /** Writes an event whose name is its data's type as well. */
  typed(kind: string, data: Record<string, string | undefined> = {}): void {
    if (/[\r\n]/.test(kind)) throw lossy("there is a type that cannot be an event's name");
    const members = Object.entries(data).map(([name, value]) => [name, value ?? "null"] as const);
    this.event(kind, writeObject(objectOf([["type", quoted(kind)], ...members])));
  }

  text(): string {
    return this.#frames.join("");
  }
}
