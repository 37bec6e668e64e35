import { ailing, type AskOnceError } from "./errors.js";

/** Where a client's few log lines go: one per change of the breaker, and each kind of mistake once. */
export interface Log {
  info(line: string): void;
  warn(line: string): void;
}

const MOST_MISTAKES = 64;
const MOST_CHARACTERS = 200;

/**
 * Logs each kind of mistake once, and never a request's text: mistakes do not mend themselves. An ailing sidecar is
 * the breaker's to log.
 */
export class Mistakes {
  readonly #said = new Set<string>();

  constructor(private readonly log: Log) {}

  /**
   * Logs a failure unless one of its kind was logged before. It says the fields' names, not what is wrong with them: a
   * message may quote what was sent.
   */
  report(error: AskOnceError): void {
    if (ailing(error) || error.kind === "circuit_open" || error.kind === "caller_gone") return;
    const fields = shortened(error.violations.map(({ field }) => field).join(", "));
    const line = [error.kind, error.code, error.reason, fields].filter(Boolean).join(" ");
    if (this.#said.has(line) || this.#said.size >= MOST_MISTAKES) return;
    this.#said.add(line);
    this.log.warn(`askonce: the cache is bypassed: ${line} (said once; the result's error has the details)`);
  }
}

export function shortened(text: string): string {
  return text.slice(0, MOST_CHARACTERS);
}
