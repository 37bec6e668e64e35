import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

import type { Caller } from "./caller.js";
import { decodeDecision, decodeStored, noDecision, nothingToFill, notStored } from "./decoding.js";
import type { Decision, StoreResult } from "./decision.js";
import { encodeLookup, encodeStore, isDecision } from "./encoding.js";
import { AskOnceError, asError } from "./errors.js";
import {
  type BatchLookupResult,
  type BatchStoreResult,
  DecisionService,
} from "./gen/askonce/v1/decision_service_pb.js";
import type { CallOptions, LookupRequest, Source, StoreRequest } from "./request.js";
import { errorOfItem } from "./status.js";

/** What batches need of their client. */
export interface BatchSettings {
  caller: Caller;
  /** In milliseconds, of the whole batch. */
  timeoutMs: number;
  /** Asks for a Lookup alone, where the batch could not carry its body. */
  alone(request: LookupRequest, budgetMs: number): Promise<Decision>;
  /** Logs an item's own failure. */
  report(error: AskOnceError): void;
}

/** Says whether the source is a decision that asked for no Store, so that there is nothing to send. */
export function asksForNone(source: Source): boolean {
  return isDecision(source) && (!source.storeAnswer || source.fillToken.length === 0);
}

/**
 * Reads the result of the item at `index`; `earlier` returns the decision of an item before it. Throws `too_large` when
 * the item is to be asked for alone, since the batch could not carry its body.
 */
export function decodeResult(
  result: BatchLookupResult | undefined,
  index: number,
  omitBody: boolean,
  earlier: (index: number) => Decision | undefined,
): Decision {
  if (result?.result.case === "error") throw errorOfItem(result.result.value);
  if (result?.result.case !== "decision") throw nonsense("neither a decision nor an error");
  const { sameAs } = result.result.value;
  const isTwin = sameAs !== undefined && sameAs < index;
  try {
    const decision = decodeDecision(result.result.value, omitBody, isTwin ? earlier(sameAs) : undefined);
    return isTwin ? decision : { ...decision, sameAs: undefined }; // of a later item, or of itself: nonsense
  } catch (thrown) {
    if (sameAs === undefined) throw thrown;
    throw new AskOnceError("too_large", "the batch did not carry the body");
  }
}

/** Throws unless every item was answered. */
export function asMany(answered: number, sent: number): void {
  if (answered !== sent) throw nonsense(`answers to ${answered} of ${sent} items`);
}

function nonsense(what: string): AskOnceError {
  return new AskOnceError("sidecar_failed", `the sidecar sent ${what}`);
}

/** Returns a batch message, whose items have number 1, of items that are encoded already. */
export function encodeItems(items: Iterable<Uint8Array>): Uint8Array {
  const writer = new BinaryWriter();
  for (const raw of items) writer.tag(1, WireType.LengthDelimited).bytes(raw);
  return writer.finish();
}

/** Makes one BatchLookup. No item can spoil another. Rejects with an AskOnceError when the whole call fails. */
export async function batchLookup(
  requests: readonly LookupRequest[],
  settings: BatchSettings,
  { signal }: CallOptions,
): Promise<Decision[]> {
  const { caller, timeoutMs } = settings;
  const deadline = performance.now() + timeoutMs;
  const decisions: Decision[] = [];
  const failed = (thrown: unknown): Decision => {
    const error = asError(thrown);
    settings.report(error);
    return noDecision(error);
  };
  const sent = encodeEach(
    requests,
    (request) => encodeLookup({ ...request, waitForFillMs: undefined }, timeoutMs),
    (position, thrown) => (decisions[position] = failed(thrown)),
  );
  if (sent.size === 0) return decisions;
  const method = DecisionService.method.batchLookup;
  const { results } = await caller.ask(method, encodeItems(sent.values()), { timeoutMs, signal });
  asMany(results.length, sent.size);
  const positions = [...sent.keys()];
  const at = (index: number) => decisions[positions[index] ?? -1];
  for (const [index, position] of positions.entries()) {
    const request = requests[position] as LookupRequest;
    try {
      const decision = decodeResult(results[index], index, request.omitBody ?? false, at);
      // Items that were not sent have no index on the wire, but one in the caller's list.
      decision.sameAs = decision.sameAs === undefined ? undefined : positions[decision.sameAs];
      decisions[position] = decision;
    } catch (thrown) {
      decisions[position] = await lookUpAgain(thrown, { ...request, waitForFillMs: undefined, signal });
    }
  }
  return decisions;

  async function lookUpAgain(thrown: unknown, request: LookupRequest): Promise<Decision> {
    if (asError(thrown).kind !== "too_large") return failed(thrown);
    return settings.alone(request, deadline - performance.now()).catch(failed);
  }
}

/** Makes one BatchStore. Rejects with an AskOnceError when the whole call fails. */
export async function batchStore(
  requests: readonly StoreRequest[],
  { caller, timeoutMs, report }: BatchSettings,
  { signal }: CallOptions,
): Promise<StoreResult[]> {
  const stored: StoreResult[] = requests.map(nothingToFill);
  const failed = (thrown: unknown): StoreResult => {
    const error = asError(thrown);
    report(error);
    return notStored(error);
  };
  const sent = encodeEach(
    requests,
    (request) => (asksForNone(request.source) ? undefined : encodeStore(request)),
    (position, thrown) => (stored[position] = failed(thrown)),
  );
  if (sent.size === 0) return stored;
  const method = DecisionService.method.batchStore;
  const { results } = await caller.ask(method, encodeItems(sent.values()), { timeoutMs, signal });
  asMany(results.length, sent.size);
  for (const [index, position] of [...sent.keys()].entries()) {
    try {
      stored[position] = storedItem(results[index]);
    } catch (thrown) {
      stored[position] = failed(thrown);
    }
  }
  return stored;
}

function storedItem(result: BatchStoreResult | undefined): StoreResult {
  if (result?.result.case === "response") return decodeStored(result.result.value);
  if (result?.result.case === "error") throw errorOfItem(result.result.value);
  throw nonsense("neither a response nor an error");
}

/** Encodes every item that can and has to be sent, by its position. */
function encodeEach<T>(
  items: readonly T[],
  encode: (item: T) => Uint8Array | undefined,
  failed: (position: number, thrown: unknown) => void,
): Map<number, Uint8Array> {
  const sent = new Map<number, Uint8Array>();
  for (const [position, item] of items.entries()) {
    try {
      const raw = encode(item);
      if (raw !== undefined) sent.set(position, raw);
    } catch (thrown) {
      failed(position, thrown);
    }
  }
  return sent;
}
