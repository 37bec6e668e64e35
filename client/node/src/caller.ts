import { type DescMessage, type DescMethodUnary, fromBinary, type MessageShape } from "@bufbuild/protobuf";

import type { Breaker } from "./breaker.js";
import { ailing, AskOnceError, asError, callerGone, outOfTime } from "./errors.js";
import { shortened } from "./log.js";
import { errorOfStatus } from "./status.js";
import type { Transport } from "./transport.js";

/**
 * How much later than the caller's own time the deadline on the wire is. gRPC's timer fires before an answer that has
 * already arrived is read, so that a busy event loop would look like a slow sidecar; this client's own timer does not.
 */
const WIRE_GRACE_MS = 1000;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Adds trace context, or whatever else a gateway's calls carry, to a call's metadata. */
export type Propagate = (carrier: Record<string, string>) => void;

/** How long a call may take, and who waits for it. */
export interface Bounds {
  timeoutMs: number;
  signal?: AbortSignal | undefined;
  metadata?: Readonly<Record<string, string>> | undefined;
}

/** Makes calls, if the breaker lets them, and tells the breaker how they ended. */
export class Caller {
  readonly #ends = new Set<(error: AskOnceError) => void>();
  #closed = false;

  constructor(
    private readonly transport: Transport,
    /** Undefined where failures say nothing of the gateway's own listener. */
    private readonly breaker: Breaker | undefined,
    private readonly propagate: Propagate | undefined,
  ) {}

  /** Makes one call. Rejects with an AskOnceError. */
  async ask<O extends DescMessage>(
    method: DescMethodUnary<DescMessage, O>,
    request: Uint8Array,
    bounds: Bounds,
  ): Promise<MessageShape<O>> {
    if (this.#closed) throw new AskOnceError("closed", "the client is closed");
    if (bounds.signal?.aborted) throw callerGone();
    if (!(bounds.timeoutMs > 0)) throw outOfTime();
    const permit = this.breaker?.enter();
    if (this.breaker !== undefined && permit === undefined) {
      throw new AskOnceError("circuit_open", "the sidecar failed too often just now and was not asked");
    }
    try {
      const path = `/${method.parent.typeName}/${method.name}`;
      const answer = read(method.output, await this.#send(path, request, bounds));
      if (permit) this.breaker?.succeed(permit);
      return answer;
    } catch (thrown) {
      const error = asError(thrown);
      if (permit && ailing(error)) this.breaker?.fail(permit, forTheLog(error));
      // A refusal is an answer: the sidecar is there. Only what this side may have made by itself (no status at all,
      // or a size limit of its own) says nothing.
      else if (permit && error.code !== "" && error.kind !== "too_large") this.breaker?.succeed(permit);
      else if (permit) this.breaker?.release(permit);
      throw error;
    }
  }

  /** Returns what a call that is made now, or later for the same caller, carries. */
  carrier(metadata: Readonly<Record<string, string>> = {}): Record<string, string> {
    const carried: Record<string, string> = {};
    this.propagate?.(carried);
    return { ...carried, ...metadata };
  }

  #send(path: string, request: Uint8Array, bounds: Bounds): Promise<Uint8Array> {
    const { timeoutMs, signal, metadata } = bounds;
    const along = {
      deadline: Date.now() + timeoutMs + WIRE_GRACE_MS,
      metadata: metadata ?? this.carrier(),
    };
    return new Promise((resolve, reject) => {
      let cancel: (() => void) | undefined;
      let ended = false;
      const end = () => {
        ended = true;
        stopTimer();
        signal?.removeEventListener("abort", gone);
        this.#ends.delete(giveUp);
      };
      const giveUp = (error: AskOnceError) => {
        if (ended) return;
        end();
        cancel?.();
        reject(error);
      };
      const gone = () => giveUp(callerGone());
      const stopTimer = after(timeoutMs, () => giveUp(outOfTime()));
      signal?.addEventListener("abort", gone, { once: true });
      this.#ends.add(giveUp);
      try {
        cancel = this.transport.unary(path, request, along, (failed, answer) => {
          if (ended) return;
          end();
          if (failed === undefined) resolve(answer);
          else reject(errorOfStatus(failed));
        });
      } catch (thrown) {
        giveUp(asError(thrown));
      }
    });
  }

  /** Ends the calls in flight, and refuses every later one. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const giveUp of [...this.#ends]) {
      giveUp(new AskOnceError("closed", "the client was closed during the call"));
    }
    this.transport.close();
  }
}

/**
 * Calls `late` when the time is over and what has arrived by then has been read: a timer that fires late, after the
 * event loop was busy, fires before that. Returns what stops it.
 */
export function after(milliseconds: number, late: () => void): () => void {
  let immediate: NodeJS.Immediate | undefined;
  const timer = setTimeout(
    () => {
      immediate = setImmediate(late);
    },
    Math.min(milliseconds, LONGEST_TIMER_MS),
  );
  return () => {
    clearTimeout(timer);
    clearImmediate(immediate);
  };
}

function read<O extends DescMessage>(schema: O, answer: Uint8Array): MessageShape<O> {
  try {
    return fromBinary(schema, answer);
  } catch {
    throw new AskOnceError("sidecar_failed", "the sidecar sent what is not an answer");
  }
}

/** Describes a failure without what a server may have quoted from the request. */
function forTheLog(error: AskOnceError): string {
  const name = error.code || error.kind;
  return error.kind === "unreachable" ? shortened(error.message) : name;
}
