import { isNull } from "./raw.js";

/**
 * A JSON string put together from its pieces. Pieces are joined as they are spelt, so that nothing is lost, not even of
 * a surrogate pair that was cut in two.
 */
export class Spoken {
  #said = false;
  #pieces = "";

  /** Says whether any piece was a string, an empty one too. */
  get said(): boolean {
    return this.#said;
  }

  get isEmpty(): boolean {
    return this.#pieces === "";
  }

  /** Takes in a piece; null says nothing. Returns whether the piece is a string or null. */
  add(raw: string | undefined): boolean {
    if (raw === undefined || isNull(raw)) return true;
    if (!raw.startsWith('"')) return false;
    this.#said = true;
    this.#pieces += raw.slice(1, -1);
    return true;
  }

  /** Returns the whole string, or null when nothing was said. */
  raw(): string {
    return this.#said ? `"${this.#pieces}"` : "null";
  }
}
