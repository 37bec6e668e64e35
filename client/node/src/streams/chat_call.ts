import { lossy } from "./errors.js";
import { asObject, isBare, quoted, type RawObject, writeObject } from "./raw.js";
import { Spoken } from "./spoken.js";

/** One tool call, put together from its deltas. */
export class ChatCall {
  readonly #told = new Map<string, string>();
  #member: "function" | "custom" = "function";
  readonly #arguments = new Spoken();

  add(call: RawObject): void {
    for (const [name, value] of call) {
      if (isBare(value) || name === "index") continue;
      if (name === "id" || name === "type") this.#once(name, value);
      else if (name === "function" || name === "custom") {
        this.#member = name;
        this.addFunction(value);
      } else throw lossy(`a tool call has "${name}"`);
    }
  }

  addFunction(raw: string): void {
    const members = asObject(raw);
    if (members === undefined) throw lossy("a function is no object");
    for (const [name, value] of members) {
      if (name === "arguments" || name === "input") {
        if (!this.#arguments.add(value)) throw lossy(`a tool call's ${name} are no text`);
      } else if (isBare(value)) continue;
      else if (name === "name") this.#once(name, value);
      else throw lossy(`a function has "${name}"`);
    }
  }

  /** Keeps what was said first; later it may only be repeated. */
  #once(name: string, value: string): void {
    const told = this.#told.get(name);
    if (told !== undefined && told !== value) throw lossy(`a tool call's ${name} changes`);
    this.#told.set(name, value);
  }

  /** Returns what is called. */
  spoken(): string {
    this.#arguments.add('""'); // arguments that were not said are empty
    const member = this.#member === "custom" ? "input" : "arguments";
    return writeObject({ name: this.#told.get("name") ?? "null", [member]: this.#arguments.raw() });
  }

  document(): string {
    return writeObject({
      id: this.#told.get("id") ?? "null",
      type: this.#told.get("type") ?? quoted(this.#member),
      [this.#member]: this.spoken(),
    });
  }
}
