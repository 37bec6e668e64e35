const encoder = new TextEncoder();

/** Returns text as UTF-8, and bytes as they are. */
export function bytesOf(text: string | Uint8Array): Uint8Array {
  return typeof text === "string" ? encoder.encode(text) : text;
}

/** Says whether UTF-8 can spell a text: half a surrogate pair would silently become another character. */
export function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}
