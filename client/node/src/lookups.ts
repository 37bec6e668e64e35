import type { Caller } from "./caller.js";
import { Gathering } from "./coalesce.js";
import { decodeDecision } from "./decoding.js";
import type { Decision } from "./decision.js";
import { encodeLookup } from "./encoding.js";
import { DecisionService } from "./gen/askonce/v1/decision_service_pb.js";
import type { LookupRequest } from "./request.js";
import { Rulebook } from "./rulebook.js";
import type { ServerInfo } from "./server_info.js";

/** How Lookups are made. */
export interface LookupSettings {
  budgetMs: number;
  coalescing: boolean;
  /** How many calls of batches may be in flight: one a connection. */
  lanes: number;
}

/** Makes Lookups, each alone or, where that costs nobody time, together with others. */
export class Lookups {
  readonly #gathering: Gathering;
  readonly #rulebook: Rulebook;
  #inFlight = 0;

  constructor(
    private readonly caller: Caller,
    private readonly settings: LookupSettings,
    info: () => Promise<ServerInfo>,
  ) {
    this.#rulebook = new Rulebook(info);
    const alone = (request: LookupRequest, budgetMs: number) => this.alone(request, budgetMs);
    this.#gathering = new Gathering(caller, settings.lanes, alone);
  }

  /** Rejects with an AskOnceError. */
  async decide(request: LookupRequest): Promise<Decision> {
    const budgetMs = this.budgetOf(request);
    this.#inFlight++;
    try {
      if (!this.settings.coalescing || request.waitForFillMs || request.metadata) {
        return await this.alone(request, budgetMs);
      }
      const deterministic = this.#rulebook.deterministic(request.descriptor);
      const together = deterministic && this.#inFlight > 1;
      const decision = await (together
        ? this.#gathering.decide(request, budgetMs)
        : this.alone(request, budgetMs));
      this.#rulebook.learn(request.descriptor, decision.ruleId);
      return decision;
    } finally {
      this.#inFlight--;
    }
  }

  /** Asks once. Rejects with an AskOnceError. */
  async alone(request: LookupRequest, budgetMs: number): Promise<Decision> {
    const { signal, omitBody = false } = request;
    const timeoutMs = budgetMs + Math.max(request.waitForFillMs ?? 0, 0);
    const metadata = request.metadata && this.caller.carrier(request.metadata);
    const message = encodeLookup(request, timeoutMs);
    const bounds = { timeoutMs, signal, metadata };
    const { decision } = await this.caller.ask(DecisionService.method.lookup, message, bounds);
    return decodeDecision(decision, omitBody);
  }

  budgetOf(request: LookupRequest): number {
    return request.budgetMs ?? this.settings.budgetMs;
  }
}
