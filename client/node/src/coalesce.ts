import { asMany, decodeResult, encodeItems } from "./batch.js";
import { after, type Caller } from "./caller.js";
import type { Decision } from "./decision.js";
import { encodeLookup } from "./encoding.js";
import { type AskOnceError, asError, callerGone, outOfTime } from "./errors.js";
import { type BatchLookupResult, DecisionService } from "./gen/askonce/v1/decision_service_pb.js";
import type { LookupRequest } from "./request.js";

/** The contract's limit of a batch. */
const MOST_ITEMS = 256;
/** Keeps a batch well below the sidecar's default `max_request` of 8 MiB, and its decoding short. */
const MOST_BATCH_BYTES = 2 ** 20;
/** Below the sidecar's default `max_response` of 3 MiB, beyond which items come back without. */
const MOST_ANSWER_BYTES = 2 * 2 ** 20;

/** One Lookup that waits for its turn. */
interface Gathered {
  readonly request: LookupRequest;
  /** Encoded: its caller may change what it gave before the batch is sent. */
  readonly raw: Uint8Array;
  readonly deadline: number;
  readonly metadata: Record<string, string>;
  /** Its caller waits no longer. */
  gone: boolean;
  resolve(decision: Decision): void;
  reject(error: AskOnceError): void;
}

/**
 * Batches naturally: while one call is in flight, Lookups that arrive gather, and go out together when it returns. At
 * low load nothing waits; at high load the batch grows by itself.
 */
export class Gathering {
  #flying = 0;
  #waiting: Gathered[] = [];
  /** A running mean of the bodies of hits, so that batches of large ones stay small. */
  #bodyBytes = 0;

  constructor(
    private readonly caller: Caller,
    /** How many calls may be in flight: one a connection. */
    private readonly lanes: number,
    private readonly alone: (request: LookupRequest, budgetMs: number) => Promise<Decision>,
  ) {}

  /** Asks for one decision, alone when nothing is in flight, else with others. Rejects with an AskOnceError. */
  async decide(request: LookupRequest, budgetMs: number): Promise<Decision> {
    const deadline = performance.now() + budgetMs;
    if (this.#flying < this.lanes) {
      this.#flying++;
      return this.alone(request, budgetMs).finally(() => this.#land());
    }
    try {
      return await this.#join(request, budgetMs, deadline);
    } catch (thrown) {
      const error = asError(thrown);
      if (error.kind !== "too_large") throw error;
      // The batch could not carry this item's body: ask for it alone.
      return this.alone(request, deadline - performance.now());
    }
  }

  #join(request: LookupRequest, budgetMs: number, deadline: number): Promise<Decision> {
    const raw = encodeLookup(request, budgetMs);
    const { signal } = request;
    if (signal?.aborted) return Promise.reject(callerGone());
    return new Promise((resolve, reject) => {
      const end = () => {
        item.gone = true;
        stopTimer();
        signal?.removeEventListener("abort", left);
      };
      const giveUp = (error: AskOnceError) => {
        end();
        reject(error);
      };
      const left = () => giveUp(callerGone());
      const stopTimer = after(budgetMs, () => giveUp(outOfTime()));
      signal?.addEventListener("abort", left, { once: true });
      const item: Gathered = {
        request,
        raw,
        deadline,
        metadata: this.caller.carrier(),
        gone: false,
        resolve: (decision) => {
          end();
          resolve(decision);
        },
        reject: giveUp,
      };
      this.#waiting.push(item);
    });
  }

  /** Gives a lane to what has gathered meanwhile, or frees it. */
  #land(): void {
    const batch = this.#next();
    if (batch.length > 0) void this.#fly(batch);
    else this.#flying--;
  }

  /** Takes as many as may go together, leaving out those who do not wait any more. */
  #next(): Gathered[] {
    const batch: Gathered[] = [];
    const now = performance.now();
    const fitting = this.#bodyBytes > 0 ? Math.floor(MOST_ANSWER_BYTES / this.#bodyBytes) : MOST_ITEMS;
    const most = Math.min(MOST_ITEMS, Math.max(1, fitting));
    let size = 0;
    let taken = 0;
    for (const item of this.#waiting) {
      const fits = batch.length === 0 || size + wireSize(item) <= MOST_BATCH_BYTES;
      if (batch.length === most || !fits) break;
      taken++;
      if (item.gone || item.deadline <= now) continue;
      batch.push(item);
      size += wireSize(item);
    }
    this.#waiting.splice(0, taken);
    return batch;
  }

  /** Makes one call for a batch and hands every item what is its own. */
  async #fly(batch: Gathered[]): Promise<void> {
    try {
      const latest = Math.max(...batch.map(({ deadline }) => deadline));
      // The call carries what its first caller's would, and no caller's going ends it.
      const bounds = { timeoutMs: latest - performance.now(), metadata: batch[0]?.metadata };
      const method = DecisionService.method.batchLookup;
      const { results } = await this.caller.ask(method, encodeItems(batch.map(({ raw }) => raw)), bounds);
      asMany(results.length, batch.length);
      this.#share(batch, results);
    } catch (thrown) {
      for (const item of batch) item.reject(asError(thrown));
    } finally {
      this.#land();
    }
  }

  #share(batch: Gathered[], results: BatchLookupResult[]): void {
    const decisions: (Decision | undefined)[] = [];
    let bytes = 0;
    let hits = 0;
    for (const [index, item] of batch.entries()) {
      const result = results[index];
      try {
        const earlier = (at: number) => decisions[at];
        const decided = decodeResult(result, index, item.request.omitBody ?? false, earlier);
        const decision = { ...decided, sameAs: undefined }; // the caller knows nothing of a batch
        decisions.push(decision);
        if (decision.hit) {
          bytes += decision.body.length;
          hits++;
        }
        item.resolve(decision);
      } catch (thrown) {
        decisions.push(undefined);
        item.reject(asError(thrown));
      }
    }
    if (hits > 0) this.#bodyBytes = (7 * this.#bodyBytes + bytes / hits) / 8;
  }
}

/** Returns the bytes that an item takes in a batch, at most: its own, its tag and its length. */
function wireSize(item: Gathered): number {
  return item.raw.length + 6;
}
