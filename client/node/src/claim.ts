import { createHash } from "node:crypto";

import { nothingToFill } from "./decoding.js";
import type { AbandonResult, Decision, StoreResult } from "./decision.js";
import { encodeLookup } from "./encoding.js";
import { asError, type AskOnceError } from "./errors.js";
import { collapsed, type Ending, Fill } from "./fill.js";
import type { LookupRequest, StoreOptions } from "./request.js";
import type { UpstreamResponse } from "./upstream.js";

/**
 * For how many others, one after the other, a caller waits. When two in a row have failed, whoever waits goes on alone:
 * else a provider that is down would be asked by one at a time.
 */
const MOST_WAITS = 2;

/** What claims need of their client. */
export interface ClaimSettings {
  /** Fails open, or rejects where the client is strict. */
  lookup(request: LookupRequest): Promise<Decision>;
  store(decision: Decision, response: UpstreamResponse, options: StoreOptions): Promise<StoreResult>;
  abandon(decision: Decision): Promise<AbandonResult>;
  report(error: AskOnceError): void;
  budgetOf(request: LookupRequest): number;
}

/**
 * A Lookup with the duty that may follow from it: one caller of this process fills a miss while others with the same
 * request wait. Call `store` or `storeAsync` when the provider has answered, and `abandon`, best in a `finally`, in
 * every case.
 */
export class Claim {
  #done = false; // stored, or given back

  constructor(
    /** What to do. */
    readonly decision: Decision,
    private readonly settings: ClaimSettings,
    /** Tells those who wait for this claim how it ended. */
    private readonly fill?: { answered(): void; end(how: Ending): void },
  ) {}

  /**
   * Files the answer under what was looked up, like the client's `store`, and lets go of those who wait. A signal does
   * not end it: the answer is there, whether or not its caller is.
   */
  async store(response: UpstreamResponse, options: StoreOptions = {}): Promise<StoreResult> {
    if (this.#done) return nothingToFill();
    this.#done = true;
    this.fill?.answered();
    let ending: Ending = { how: "over" };
    try {
      const stored = await this.settings.store(this.decision, response, { ...options, signal: undefined });
      if (stored.stored) ending = { how: "stored", decision: collapsed(this.decision, response, stored) };
      return stored;
    } finally {
      this.fill?.end(ending);
    }
  }

  /**
   * Is `store` for a caller that does not wait for the outcome: an answer that has been handed on in whole is not held
   * up by the cache. It returns at once, and what goes wrong is logged. It ends within the store timeout; an answer that
   * is not stored by the time the program ends is lost.
   */
  storeAsync(response: UpstreamResponse, options: StoreOptions = {}): void {
    this.store(response, options).catch((thrown: unknown) => this.settings.report(asError(thrown)));
  }

  /**
   * Gives the claim back, since there is no answer to store: the lease, if this caller has one, and the turn. After
   * `store` it does nothing. It never rejects, so there is no need to wait for it.
   */
  async abandon(): Promise<void> {
    if (this.#done) return;
    this.#done = true;
    try {
      await this.settings.abandon(this.decision);
    } catch {
      // It is logged, and the lease ends by itself.
    } finally {
      this.fill?.end({ how: "abandoned" });
    }
  }
}

/** Lets callers of one process with identical requests come after one another. */
export class Claims {
  readonly #fills = new Map<string, Fill>();

  constructor(private readonly settings: ClaimSettings) {}

  /** Looks up, or waits for the caller that does. Rejects where the client is strict and the Lookup fails. */
  async claim(request: LookupRequest): Promise<Claim> {
    const key = keyOf(request);
    let deadline = performance.now() + this.settings.budgetOf(request);
    for (let waits = 0; key !== undefined && waits < MOST_WAITS; waits++) {
      const others = this.#fills.get(key);
      if (others === undefined) return this.#lead(key, request);
      const ending = await others.wait(request, deadline - performance.now());
      if (ending.how === "stored") return new Claim(ending.decision, this.settings);
      if (ending.how !== "undecided") deadline = performance.now() + this.settings.budgetOf(request);
      if (ending.how !== "abandoned") break; // else one of those who wait comes next
    }
    const alone = { ...request, budgetMs: Math.max(deadline - performance.now(), 1) };
    // Those who waited with this one go on alone too; those who come later wait for it.
    if (key !== undefined && !this.#fills.has(key)) return this.#lead(key, alone);
    return new Claim(await this.settings.lookup(alone), this.settings);
  }

  /** Looks up for all; unless an answer is to be stored, nobody has to wait any longer. */
  async #lead(key: string, request: LookupRequest): Promise<Claim> {
    const fill = new Fill();
    this.#fills.set(key, fill);
    const end = (how: Ending) => {
      this.#fills.delete(key);
      fill.end(how);
    };
    let waitedFor = false;
    try {
      const decision = await this.settings.lookup(request);
      waitedFor = decision.outcome === "miss" && decision.storeAnswer;
      if (!waitedFor) return new Claim(decision, this.settings);
      fill.decide();
      return new Claim(decision, this.settings, { answered: () => fill.answer(), end });
    } finally {
      if (!waitedFor) end({ how: "over" });
    }
  }
}

/**
 * Identifies a request among those of this process; undefined when it has to be looked up for itself: only an ordinary
 * Lookup may be answered by what another one brought.
 */
function keyOf(request: LookupRequest): string | undefined {
  const { mode = "default", minFreshMs } = request.controls ?? {};
  if (mode !== "default" || minFreshMs !== undefined) return undefined;
  const named = { ...request, requestId: undefined, waitForFillMs: undefined, trace: undefined };
  try {
    return createHash("sha256").update(encodeLookup(named, 0)).digest("base64");
  } catch {
    return undefined; // the Lookup says what is wrong with it
  }
}
