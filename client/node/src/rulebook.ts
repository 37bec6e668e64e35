import type { Descriptor } from "./descriptor.js";
import { isDeterministic, type ServerInfo } from "./server_info.js";

/** How long what the sidecar said of its rules is believed: it may be configured anew. */
const RULES_AGE_MS = 60_000;
/** Bounds what is remembered of requests. */
const MOST_KINDS = 4096;

/**
 * Knows which requests never wait for an embedding: those whose rule, as the sidecar says, has only deterministic
 * matchers. Which rule a kind of request has is learnt from its decisions. What is not known counts as waiting; a
 * belief that is out of date costs time, never a wrong answer.
 */
export class Rulebook {
  #askedAt = -Infinity;
  /** Whether each rule, by id, is deterministic; undefined while nothing is known. */
  #rules: Map<string, boolean> | undefined;
  #all = false;
  /** By kind of request: whether every rule that it was seen under is deterministic. */
  #kinds = new Map<string, boolean>();

  constructor(private readonly ask: () => Promise<ServerInfo>) {}

  /** Says whether no request of this one's kind waits for an embedding. It never waits for the sidecar itself. */
  deterministic(descriptor: Descriptor): boolean {
    const now = performance.now();
    if (now - this.#askedAt > RULES_AGE_MS) {
      this.#askedAt = now;
      void this.#refresh();
    }
    return this.#rules !== undefined && (this.#all || this.#kinds.get(kindOf(descriptor)) === true);
  }

  async #refresh(): Promise<void> {
    try {
      const { rules } = await this.ask();
      this.#all = rules.every(isDeterministic);
      this.#rules = new Map(rules.map((rule) => [rule.id, isDeterministic(rule)]));
      this.#rules.set("", true); // no rule, no embedding
      this.#kinds.clear();
    } catch {
      this.#rules = undefined; // it is asked again in a minute
    }
  }

  /** Remembers under which rule a request was decided. */
  learn(descriptor: Descriptor, ruleId: string): void {
    if (this.#rules === undefined || this.#all) return;
    if (this.#kinds.size >= MOST_KINDS) this.#kinds.clear();
    const kind = kindOf(descriptor);
    this.#kinds.set(kind, this.#rules.get(ruleId) === true && this.#kinds.get(kind) !== false);
  }
}

/** Returns everything of a descriptor that a rule can match on, save what only its body says. */
function kindOf({ dialect, endpoint, served, scope, attributes, stream }: Descriptor): string {
  const sorted = (members = {}) => Object.entries(members).sort();
  const target = [served?.provider, served?.model];
  return JSON.stringify([dialect, endpoint, target, stream, sorted(scope), sorted(attributes)]);
}
