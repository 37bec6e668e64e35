import type { Log } from "./log.js";

/** When a client stops asking a sidecar that does not answer, and how it finds out that it is back. */
export interface BreakerSettings {
  /** How many failures in a row open it. Default: 5; `Infinity`: never. */
  failures?: number | undefined;
  /** For how long it stays open at first; it doubles with every failed probe. Default: 1000. */
  backoffMs?: number | undefined;
  /** For how long it stays open at most. Default: 30000. */
  maxBackoffMs?: number | undefined;
}

/** What a breaker lets through: every call, none, or one at a time to find out. */
export type BreakerState = "closed" | "open" | "half-open";

/** The leave to make one call. Its end must be told to the breaker that gave it. */
export interface Permit {
  readonly epoch: number;
  readonly probe: boolean;
}

/** Time and chance, which tests replace. */
export interface Surroundings {
  now(): number;
  /** In [0, 1): takes up to a fifth off each wait, so that a fleet does not come back at once. */
  jitter(): number;
}

/**
 * Opens after several failures in a row, then lets one probe through now and then. It writes one log line per change
 * of state and none per call.
 */
export class Breaker {
  readonly #failuresToOpen: number;
  readonly #backoffMs: number;
  readonly #maxBackoffMs: number;
  #state: BreakerState = "closed";
  #epoch = 0;
  #failures = 0;
  #openings = 0;
  #retryAt = 0;
  #probeUntil = 0;

  constructor(
    settings: BreakerSettings,
    private readonly log: Log,
    private readonly around: Surroundings = { now: () => performance.now(), jitter: Math.random },
  ) {
    this.#failuresToOpen = settings.failures ?? 5;
    this.#backoffMs = settings.backoffMs ?? 1000;
    this.#maxBackoffMs = Math.max(settings.maxBackoffMs ?? 30_000, this.#backoffMs);
  }

  get state(): BreakerState {
    return this.#state;
  }

  /** Returns the leave to make a call, or undefined when none may be made. */
  enter(): Permit | undefined {
    if (this.#state === "closed") return { epoch: this.#epoch, probe: false };
    const now = this.around.now();
    if (this.#state === "open") {
      if (now < this.#retryAt) return undefined;
      this.#move("half-open");
      this.log.info("askonce: circuit half-open: one call finds out whether the sidecar is back");
    } else if (now < this.#probeUntil) {
      return undefined;
    }
    // A probe whose end is never told must not keep the breaker half open for ever.
    this.#probeUntil = now + this.#maxBackoffMs;
    return { epoch: this.#epoch, probe: true };
  }

  /** Says that the sidecar answered. */
  succeed({ epoch, probe }: Permit): void {
    if (epoch !== this.#epoch) return;
    this.#failures = 0;
    if (!probe) return;
    this.#openings = 0;
    this.#move("closed");
    this.log.warn("askonce: circuit closed: the sidecar answers again");
  }

  /** Says that the sidecar did not answer, and why, for the log. */
  fail({ epoch, probe }: Permit, why: string): void {
    if (epoch !== this.#epoch) return;
    this.#failures++;
    if (!probe && this.#failures < this.#failuresToOpen) return;
    const whole = Math.min(this.#backoffMs * 2 ** this.#openings, this.#maxBackoffMs);
    if (whole < this.#maxBackoffMs) this.#openings++;
    const wait = whole - (whole * this.around.jitter()) / 5;
    this.#retryAt = this.around.now() + wait;
    const failures = this.#failures;
    this.#move("open");
    this.log.warn(
      `askonce: circuit open: the cache is bypassed for ${Math.round(wait)} ms` +
        ` after ${failures} failures in a row, the last: ${why}`,
    );
  }

  /** Says that the call ended without telling anything of the sidecar's health. */
  release({ epoch, probe }: Permit): void {
    if (probe && epoch === this.#epoch) this.#probeUntil = 0;
  }

  /** Changes state. Calls that were let through before have no say any more: the epoch is over. */
  #move(state: BreakerState): void {
    this.#state = state;
    this.#epoch++;
    this.#probeUntil = 0;
    if (state === "closed") this.#failures = 0;
  }
}
