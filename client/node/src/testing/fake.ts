import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { status as Code } from "@grpc/grpc-js";

import { bytesOf } from "../bytes.js";
import { AskOnce, type Options } from "../client.js";
import type { BypassReason, RefusalReason } from "../enums.js";
import { DecisionSchema, MatchKind, Outcome } from "../gen/askonce/v1/decision_pb.js";
import type { RuleSummary } from "../server_info.js";
import {
  ImaginedSidecar,
  type LookupMessage,
  numberOfBypass,
  numberOfRefusal,
  type StoreMessage,
} from "./sidecar.js";

/**
 * A client without a sidecar: it checks, fails open and breaks circuits exactly as the real one does. It starts empty:
 * a Lookup misses and hands out a token, a Store with it is found by the next Lookup. It knows JSON apart from white
 * space and key order, and requires a tenant, as the sidecar's default rule does; it does not know the sidecar's other
 * rules, and nothing in it expires.
 *
 * What it is told with a `will` method is used up, in order, before that.
 */
export class FakeAskOnce extends AskOnce {
  readonly #sidecar: ImaginedSidecar;

  /** Options that say how to connect do nothing. */
  constructor(options: Omit<Options, "transport" | "admin"> = {}) {
    const sidecar = new ImaginedSidecar();
    super("imagined", { ...options, transport: sidecar });
    this.#sidecar = sidecar;
  }

  /** Serves a body to the next Lookup. */
  willHit(body: string | Uint8Array, contentType = "application/json"): void {
    const candidate = { body: { data: bytesOf(body), contentType } };
    this.willDecide({ outcome: Outcome.HIT, kind: MatchKind.EXACT, cacheStatus: "askonce; hit", candidate });
  }

  /** Lets the next Lookup miss, whatever is stored. */
  willMiss(): void {
    this.willDecide({ outcome: Outcome.MISS, cacheStatus: "askonce; fwd=miss" });
  }

  /** Bypasses the next Lookup for one of the sidecar's own reasons; for the others use `willFail`. */
  willBypass(reason: BypassReason): void {
    const bypassReason = numberOfBypass(reason);
    this.willDecide({ outcome: Outcome.BYPASS, bypassReason, cacheStatus: "askonce; fwd=bypass" });
  }

  /** Answers the next Lookup with any decision of the contract. */
  willDecide(decision: MessageInitShape<typeof DecisionSchema>): void {
    this.#sidecar.decisions.push(create(DecisionSchema, decision));
  }

  /** Refuses the next Store for one of the sidecar's own reasons. */
  willRefuse(reason: RefusalReason): void {
    this.#sidecar.refusals.push(numberOfRefusal(reason));
  }

  /** Fails the next call, of whatever verb but `serverInfo`. */
  willFail(code: keyof typeof Code = "UNAVAILABLE", message = "programmed", details?: Uint8Array): void {
    this.#sidecar.failures.push({ code: Code[code], message, details });
  }

  /** Makes every later call take so long. */
  setDelay(milliseconds: number): void {
    this.#sidecar.delayMs = milliseconds;
  }

  /** Says what `serverInfo` answers, in place of one deterministic rule named default. */
  setRules(...rules: RuleSummary[]): void {
    this.#sidecar.rules = rules;
  }

  /** The name of every call that reached the sidecar, such as BatchLookup, in order; `serverInfo` is left out. */
  get calls(): readonly string[] {
    return this.#sidecar.calls;
  }

  /** The metadata of those calls. */
  get metadata(): readonly Readonly<Record<string, string>>[] {
    return this.#sidecar.metadata;
  }

  /** Every Lookup that reached the sidecar, those of batches included, in order. */
  get lookups(): readonly LookupMessage[] {
    return this.#sidecar.lookups;
  }

  /** Every Store that reached the sidecar, those of batches included, in order. */
  get stores(): readonly StoreMessage[] {
    return this.#sidecar.stores;
  }

  /** The fill token of every Abandon that reached the sidecar, in order. */
  get abandons(): readonly Uint8Array[] {
    return this.#sidecar.abandons;
  }

  /** How large every BatchLookup was that reached the sidecar, in order. */
  get batches(): readonly { items: number; bytes: number }[] {
    return this.#sidecar.batches;
  }
}
