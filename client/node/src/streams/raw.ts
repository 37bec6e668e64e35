/**
 * JSON whose values keep their spelling: a value is the text that stands for it. JavaScript's numbers would round what
 * a provider wrote, and write `1.0` and `1e0` as `1`.
 */

/** The members of a JSON object, each as its text, in the order in which they stand there. */
export type RawObject = Map<string, string>;

/** Returns UTF-8 as text, without a byte order mark; undefined for what is not UTF-8. */
export function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Reads a document; undefined unless it is a JSON object. Of equal names the last one counts. */
export function parseObject(text: string): RawObject | undefined {
  return isJson(text) ? asObject(text) : undefined;
}

/** Reads a value of a document that is known to be JSON; undefined unless it is an object. */
export function asObject(raw: string | undefined): RawObject | undefined {
  const members = split(raw, "{");
  if (members === undefined) return undefined;
  const object: RawObject = new Map();
  for (const member of members) {
    const colon = member.indexOf(":", endOfString(member, 0));
    object.set(JSON.parse(member.slice(0, colon)) as string, member.slice(colon + 1).trim());
  }
  return object;
}

/** Reads a value of a document that is known to be JSON; undefined unless it is an array. */
export function asList(raw: string | undefined): string[] | undefined {
  return split(raw, "[");
}

/** Undefined unless it is an array of objects. */
export function asObjects(raw: string | undefined): RawObject[] | undefined {
  const objects = asList(raw)?.map(asObject);
  return objects?.every((object) => object !== undefined) ? objects : undefined;
}

/** Returns what a JSON string says; empty for anything else. */
export function asText(raw: string | undefined): string {
  return raw?.startsWith('"') ? (JSON.parse(raw) as string) : "";
}

/** Returns a whole number from 0 on; undefined for anything else. */
export function asCount(raw: string | undefined): number | undefined {
  const count = raw !== undefined && /^\d+$/.test(raw) ? Number(raw) : undefined;
  return Number.isSafeInteger(count) ? count : undefined;
}

/** Says whether a member is absent or null. */
export function isNull(raw: string | undefined): boolean {
  return raw === undefined || raw === "null";
}

/** Says whether a member says nothing: absent, null, or empty. */
export function isBare(raw: string | undefined): boolean {
  return raw === undefined || raw === "null" || raw === '""' || raw === "[]" || raw === "{}";
}

export function quoted(text: string): string {
  return JSON.stringify(text);
}

export function objectOf(members: Iterable<readonly [string, string]> | Record<string, string>): RawObject {
  return new Map(Symbol.iterator in members ? members : Object.entries(members));
}

/** Returns a copy of the object with other members. */
export function withMembers(object: RawObject, changes: RawObject | Record<string, string>): RawObject {
  return new Map([...object, ...objectOf(changes)]);
}

export function writeObject(members: RawObject | Record<string, string>): string {
  return `{${[...objectOf(members)].map(([name, value]) => `${quoted(name)}:${value}`).join(",")}}`;
}

export function writeList(items: readonly string[]): string {
  return `[${items.join(",")}]`;
}

/** Cuts the inside of a JSON object or array at its commas; undefined where it begins in another way. */
function split(raw: string | undefined, opening: "{" | "["): string[] | undefined {
  const text = raw?.trim() ?? "";
  if (text[0] !== opening) return undefined;
  const pieces: string[] = [];
  let depth = 0;
  let start = 1;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === '"') at = endOfString(text, at) - 1;
    else if (character === "{" || character === "[") depth++;
    else if (character === "}" || character === "]") depth--;
    else if (character === "," && depth === 1) {
      pieces.push(text.slice(start, at).trim());
      start = at + 1;
    }
  }
  const last = text.slice(start, -1).trim();
  return last === "" ? pieces : [...pieces, last];
}

/** Returns where the JSON string that begins at `start` ends, behind its quotation mark. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at + 1;
}
