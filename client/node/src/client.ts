import type { ChannelOptions } from "@grpc/grpc-js";

import { asksForNone, batchLookup, batchStore } from "./batch.js";
import { bytesOf } from "./bytes.js";
import { Breaker, type BreakerSettings, type BreakerState } from "./breaker.js";
import { Caller, type Propagate } from "./caller.js";
import { Channels, type Tls } from "./channel.js";
import { type Claim, Claims, type ClaimSettings } from "./claim.js";
import { decodeStored, noDecision, nothingToFill, notStored } from "./decoding.js";
import type { AbandonResult, Decision, FeedbackResult, StoreResult } from "./decision.js";
import type { Descriptor } from "./descriptor.js";
import { encodeAbandon, encodeFeedback, encodeStore, isDecision, tokenOf } from "./encoding.js";
import type { Verdict } from "./enums.js";
import { type AskOnceError, asError } from "./errors.js";
import { DecisionService } from "./gen/askonce/v1/decision_service_pb.js";
import { type Log, Mistakes } from "./log.js";
import { Lookups } from "./lookups.js";
import type {
  CallOptions,
  LookupOptions,
  LookupRequest,
  Source,
  StoreOptions,
  StoreRequest,
  Subject,
} from "./request.js";
import { askServerInfo, type ServerInfo } from "./server_info.js";
import type { Transport } from "./transport.js";
import type { UpstreamResponse } from "./upstream.js";

const BUDGET_MS = 50;
/** Above the sidecar's own write timeout of 2 s. */
const STORE_TIMEOUT_MS = 2500;

/** How a client behaves. */
export interface Options {
  /** How long a Lookup may take, connecting included. Default: 50. */
  budgetMs?: number | undefined;
  /** How long every other call may take. Default: 2500. */
  storeTimeoutMs?: number | undefined;
  /** Throws errors instead of failing open. */
  strict?: boolean | undefined;
  /** When the circuit breaker opens and closes. */
  breaker?: BreakerSettings | undefined;
  /** Where the client's few log lines go: `info(line)` and `warn(line)`. Default: the console. */
  log?: Log | undefined;
  /** Connects over TLS. Default: plain text, for a sidecar on the same machine. */
  tls?: Tls | undefined;
  /** More targets, for a sidecar with a socket per worker. Calls take turns. */
  targets?: readonly string[] | undefined;
  /** Connections per target: at least as many as the sidecar has workers on one TCP port. Default: 1. */
  channels?: number | undefined;
  /** The sidecar's admin listener, where its ordinary one does not answer `serverInfo`. */
  admin?: string | undefined;
  /**
   * Whether Lookups that arrive while another is in flight go out together when it returns. It costs a lone Lookup
   * nothing, and leaves out whatever may have to wait for an embedding. Default: true.
   */
  coalescing?: boolean | undefined;
  /**
   * Adds trace context to calls. With OpenTelemetry: `(carrier) => propagation.inject(context.active(), carrier)`.
   */
  propagate?: Propagate | undefined;
  /** Channel options of @grpc/grpc-js, which win over this client's own. */
  channelOptions?: ChannelOptions | undefined;
  /** A connection of your own. What says how to connect does nothing then. */
  transport?: Transport | undefined;
}

/** Calls the provider. What it throws means that there is no answer; an answer with a status of 500 is an answer. */
export type FillFromProvider = (
  signal: AbortSignal | undefined,
) => UpstreamResponse | Promise<UpstreamResponse>;

/** An answer, from the cache or from the provider. */
export interface Fetched {
  /** It may be shared: do not change it. */
  body: Uint8Array;
  contentType: string;
  /** The provider's; 200 for a hit. */
  statusCode: number;
  decision: Decision;
}

/**
 * A client of one sidecar; make one per process and keep it.
 *
 * It fails open: unless it is strict, no verb rejects. A sidecar that is down, slow or broken gives a bypass, or a
 * refusal, whose `error` says why.
 */
export class AskOnce {
  readonly #storeTimeoutMs: number;
  readonly #budgetMs: number;
  readonly #strict: boolean;
  readonly #breaker: Breaker;
  readonly #caller: Caller;
  readonly #admin: Caller;
  readonly #mistakes: Mistakes;
  readonly #lookups: Lookups;
  readonly #claims: Claims;

  /** Makes a client of the sidecar at `target`, unix:///path or host:port, and begins to connect. */
  constructor(target: string, options: Options = {}) {
    const { channels = 1, log = console, propagate } = options;
    this.#budgetMs = positive("budgetMs", options.budgetMs ?? BUDGET_MS);
    this.#storeTimeoutMs = positive("storeTimeoutMs", options.storeTimeoutMs ?? STORE_TIMEOUT_MS);
    if (typeof target !== "string" || target === "" || !Number.isInteger(channels) || channels < 1) {
      throw new RangeError("there must be a target, such as 127.0.0.1:50051, and a channel");
    }
    if (typeof log?.info !== "function" || typeof log.warn !== "function") {
      throw new TypeError("log must have info(line) and warn(line), as the console has");
    }
    this.#strict = options.strict ?? false;
    this.#mistakes = new Mistakes(log);
    this.#breaker = new Breaker(options.breaker ?? {}, log);
    const targets = [target, ...(options.targets ?? [])];
    const { tls, channelOptions = {} } = options;
    const transport = options.transport ?? new Channels({ targets, channels, tls, channelOptions });
    const admin =
      options.admin === undefined
        ? transport
        : new Channels({ targets: [options.admin], channels: 1, tls, channelOptions });
    this.#caller = new Caller(transport, this.#breaker, propagate);
    // An operator's listener that is away says nothing of the gateway's, so the breaker is left out.
    this.#admin = new Caller(admin, undefined, propagate);
    const settings = {
      budgetMs: this.#budgetMs,
      coalescing: options.coalescing ?? true,
      lanes: channels * targets.length,
    };
    this.#lookups = new Lookups(this.#caller, settings, () => this.serverInfo());
    this.#claims = new Claims(this.#claimSettings());
  }

  /** What the circuit breaker lets through now; good to export as a metric. */
  get breakerState(): BreakerState {
    return this.#breaker.state;
  }

  /** Asks whether a stored answer may be served. */
  async lookup(descriptor: Descriptor, options: LookupOptions = {}): Promise<Decision> {
    return this.#lookup({ ...options, descriptor });
  }

  #lookup(request: LookupRequest): Promise<Decision> {
    return this.#lookups.decide(request).catch((thrown: unknown) => noDecision(this.#given(thrown)));
  }

  /**
   * Asks for 1 to 256 decisions at once, in one budget; the order is kept. An item's own failure stands in that item's
   * `error`, also in a strict client. `waitForFillMs` and an item's own signal are ignored: a batch waits for nobody.
   */
  async batchLookup(requests: readonly LookupRequest[], options: CallOptions = {}): Promise<Decision[]> {
    try {
      return await batchLookup(requests, this.#batches(this.#budgetMs), options);
    } catch (thrown) {
      const error = this.#given(thrown);
      return requests.map(() => noDecision(error));
    }
  }

  /**
   * Files an answer under the decision (or fill token) that asked for it, or under a descriptor. A decision that asked
   * for no Store is refused here, without a call: it is safe to store after every decision that was not a hit.
   */
  async store(source: Source, response: UpstreamResponse, options: StoreOptions = {}): Promise<StoreResult> {
    if (asksForNone(source)) return nothingToFill();
    try {
      const message = encodeStore({ ...options, source, response });
      const bounds = { timeoutMs: this.#storeTimeoutMs, signal: options.signal };
      return decodeStored(await this.#caller.ask(DecisionService.method.store, message, bounds));
    } catch (thrown) {
      return notStored(this.#given(thrown));
    }
  }

  /** Files 1 to 256 answers at once; the order is kept, and each item has its own result. */
  async batchStore(requests: readonly StoreRequest[], options: CallOptions = {}): Promise<StoreResult[]> {
    try {
      return await batchStore(requests, this.#batches(this.#storeTimeoutMs), options);
    } catch (thrown) {
      const error = this.#given(thrown);
      return requests.map(({ source }) => (asksForNone(source) ? nothingToFill() : notStored(error)));
    }
  }

  /**
   * Gives a lease back, since the provider call failed. A decision without a lease costs no call, nor is it an error
   * that a sidecar knows no leases. No signal ends it: that the caller has gone is a reason to abandon.
   */
  async abandon(source: Decision | Uint8Array): Promise<AbandonResult> {
    if (isDecision(source) && !source.leaseHolder) return { released: false, error: undefined };
    try {
      const message = encodeAbandon(tokenOf(source) ?? new Uint8Array());
      const bounds = { timeoutMs: this.#storeTimeoutMs };
      const { released } = await this.#caller.ask(DecisionService.method.abandon, message, bounds);
      return { released, error: undefined };
    } catch (thrown) {
      if (asError(thrown).code === "UNIMPLEMENTED") return { released: false, error: undefined };
      return { released: false, error: this.#given(thrown) };
    }
  }

  /** Tells whether a served answer was right; `by` names who judged. */
  async feedback(
    subject: Subject,
    verdict: Verdict,
    by: string,
    options: CallOptions = {},
  ): Promise<FeedbackResult> {
    try {
      const message = encodeFeedback(subject, verdict, by);
      const bounds = { timeoutMs: this.#storeTimeoutMs, signal: options.signal };
      const { recorded } = await this.#caller.ask(DecisionService.method.recordFeedback, message, bounds);
      return { recorded, error: undefined };
    } catch (thrown) {
      return { recorded: false, error: this.#given(thrown) };
    }
  }

  /**
   * Looks a request up like `lookup` does. Callers of one process with identical requests come after one another: while
   * one of them fills a miss the others wait, and are given the answer that it stored: a hit that is `collapsed`.
   */
  async claim(descriptor: Descriptor, options: LookupOptions = {}): Promise<Claim> {
    return this.#claims.claim({ ...options, descriptor });
  }

  /**
   * Serves a request from the cache, or calls `fill` and stores what it brings, without waiting for the Store. Callers
   * with identical requests, in this process and, as far as the sidecar's rule says so, in others, wait for one of them
   * to fill. It rejects with what `fill` throws, or with the sidecar's error where the client is strict.
   */
  async fetch(descriptor: Descriptor, fill: FillFromProvider, options: LookupOptions = {}): Promise<Fetched> {
    const claim = await this.claim(descriptor, { ...options, omitBody: false });
    try {
      const { decision } = claim;
      if (decision.hit) {
        const { body, contentType } = decision;
        return { body, contentType, statusCode: 200, decision };
      }
      const answer = await fill(options.signal);
      claim.storeAsync(answer);
      const { contentType = "", statusCode } = answer;
      return { body: bytesOf(answer.body), contentType, statusCode, decision };
    } finally {
      void claim.abandon();
    }
  }

  /** Asks the sidecar what it is. Rejects whenever it has no answer: there is nothing to fail open to. */
  async serverInfo(options: CallOptions = {}): Promise<ServerInfo> {
    return askServerInfo(this.#admin, this.#storeTimeoutMs, options);
  }

  /** Closes the connections. Calls in flight end as bypasses; so does every later one. */
  close(): void {
    this.#caller.close();
    this.#admin.close();
  }

  /** Reports a failure and returns it; a strict client throws it. */
  #given(thrown: unknown): AskOnceError {
    const error = asError(thrown);
    this.#mistakes.report(error);
    if (this.#strict) throw error;
    return error;
  }

  #batches(timeoutMs: number) {
    return {
      caller: this.#caller,
      timeoutMs,
      alone: (request: LookupRequest, budgetMs: number) => this.#lookups.alone(request, budgetMs),
      report: (error: AskOnceError) => this.#mistakes.report(error),
    };
  }

  #claimSettings(): ClaimSettings {
    return {
      lookup: (request) => this.#lookup(request),
      store: (decision, response, options) => this.store(decision, response, options),
      abandon: (decision) => this.abandon(decision),
      report: (error) => this.#mistakes.report(error),
      budgetOf: (request) => this.#lookups.budgetOf(request),
    };
  }
}

function positive(name: string, value: number): number {
  if (!(value > 0)) throw new RangeError(`${name} must be above 0`);
  return value;
}
