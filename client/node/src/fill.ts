import { bytesOf } from "./bytes.js";
import { emptyFacts } from "./decoding.js";
import type { Decision, Hit, StoreResult } from "./decision.js";
import type { LookupRequest } from "./request.js";
import { isStream } from "./streams/events.js";
import type { UpstreamResponse } from "./upstream.js";

/**
 * How long callers in one process wait for another's answer, if they do not say: as long as a lease of the sidecar
 * lasts by default.
 */
const LONGEST_FILL_MS = 60_000;

/**
 * How a fill went for those who waited: there is an answer for all; none is to be had by waiting; the provider failed,
 * or its caller has gone; or the time for a Lookup was over before anything was known.
 */
export type Ending =
  { how: "stored"; decision: Decision } | { how: "over" } | { how: "abandoned" } | { how: "undecided" };

type Moment = "decided" | "answered" | "settled";

/** One request that some caller of this process is looking up or filling. */
export class Fill {
  #ending: Ending | undefined;
  readonly #reached = new Set<Moment>();
  readonly #watchers = new Set<() => void>();

  /** Says that it is a miss that will be filled. */
  decide(): void {
    this.#reach("decided");
  }

  /** Says that the provider's answer is being stored. */
  answer(): void {
    this.#reach("answered");
  }

  end(how: Ending): void {
    this.#ending = how;
    this.#reach("settled");
  }

  #reach(moment: Moment): void {
    this.#reached.add(moment);
    for (const watcher of [...this.#watchers]) watcher();
  }

  /** Waits until the fill is over: for its decision and for its Store no longer than a Lookup may take. */
  async wait({ signal, waitForFillMs }: LookupRequest, budgetMs: number): Promise<Ending> {
    if (!(await this.#until("decided", budgetMs, signal))) return { how: "undecided" };
    if (!(await this.#until("answered", waitForFillMs || LONGEST_FILL_MS, signal))) return { how: "over" };
    if (!(await this.#until("settled", budgetMs, signal))) return { how: "over" };
    return this.#ending ?? { how: "over" };
  }

  /** Says whether the moment, or the end, came before the time was over and the caller had gone. */
  #until(moment: Moment, milliseconds: number, signal: AbortSignal | undefined): Promise<boolean> {
    const there = () => this.#reached.has(moment) || this.#reached.has("settled");
    if (there()) return Promise.resolve(true);
    if (signal?.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", end);
        this.#watchers.delete(watcher);
        resolve(there());
      };
      const watcher = () => {
        if (there()) end();
      };
      const timer = setTimeout(end, Math.max(milliseconds, 0));
      signal?.addEventListener("abort", end, { once: true });
      this.#watchers.add(watcher);
    });
  }
}

/** Returns the decision of a caller that waited for the answer which was stored. */
export function collapsed(decision: Decision, answer: UpstreamResponse, stored: StoreResult): Hit {
  const now = new Date();
  const { requestStartTime: began } = answer;
  const { expireTime } = stored;
  const [entry] = stored.entries;
  const body = bytesOf(answer.body);
  return {
    ...emptyFacts(),
    outcome: "hit",
    hit: true,
    collapsed: true,
    kind: entry?.kind,
    ruleId: decision.ruleId,
    cacheStatus: "askonce; fwd=miss; collapsed",
    body,
    contentType: answer.contentType ?? "",
    bodyOmitted: false,
    candidate: {
      entryId: entry?.entryId ?? "",
      entrySha7: entry?.entryId.slice(0, 7) ?? "",
      scopeSha7: "",
      similarity: undefined,
      threshold: undefined,
      lowThreshold: undefined,
      zone: undefined,
      verified: false,
      verifier: "",
      ageMs: began ? Math.max(now.getTime() - began.getTime(), 0) : 0,
      ttlLeftMs: expireTime ? expireTime.getTime() - now.getTime() : 0,
      storeTime: now,
      expireTime,
      sourceRequestId: answer.sourceRequestId ?? "",
      stream: isStream(body) ? "stream" : "json",
      containsToolCalls: answer.containsToolCalls ?? false,
      usage: answer.usage,
      evidence: undefined,
      costAvoidedUsd: answer.costUsd,
    },
  };
}
