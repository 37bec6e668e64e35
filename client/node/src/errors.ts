import type { LocalReason } from "./enums.js";

/**
 * What kind of failure lies between a gateway and its sidecar.
 *
 * - `unreachable`: nobody listens at the target, the connection broke, or the sidecar is going down
 * - `budget_exceeded`: the sidecar did not answer in time
 * - `sidecar_failed`: the sidecar answered with a fault, or with what is not an answer
 * - `circuit_open`: the sidecar failed too often just now, so it was not asked
 * - `call_refused`: the sidecar refused the call: not allowed, or a method that it does not have
 * - `invalid_request`: the request breaks the contract; `violations` names every bad field
 * - `too_large`: the request, or the answer, is larger than a limit
 * - `closed`: the client was closed
 * - `caller_gone`: the caller's own signal aborted first; says nothing of the sidecar
 * - `client_fault`: this client has a bug
 */
export type ErrorKind =
  | "unreachable"
  | "budget_exceeded"
  | "sidecar_failed"
  | "circuit_open"
  | "call_refused"
  | "invalid_request"
  | "too_large"
  | "closed"
  | "caller_gone"
  | "client_fault";

/** One bad field: its path as in the contract, and what is wrong and how to mend it. */
export interface Violation {
  field: string;
  description: string;
}

/** What is known of a failure besides its kind and its message. */
export interface ErrorDetails {
  code?: string;
  reason?: string;
  metadata?: Record<string, string>;
  violations?: Violation[];
}

/**
 * A call that brought no usable answer. Unless the client is strict it is never thrown: it stands in the `error` of a
 * result that reads as "no cache".
 */
export class AskOnceError extends Error {
  override readonly name = "AskOnceError";
  readonly kind: ErrorKind;
  /** The name of the gRPC status code, such as UNAVAILABLE; empty when the sidecar was not asked. */
  readonly code: string;
  /** The stable upper-case reason of the sidecar's ErrorInfo; empty when it gave none. */
  readonly reason: string;
  /** What that ErrorInfo says besides. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Every bad field. */
  readonly violations: readonly Violation[];

  constructor(kind: ErrorKind, message: string, details: ErrorDetails = {}) {
    super(described(message, details));
    this.kind = kind;
    this.code = details.code ?? "";
    this.reason = details.reason ?? "";
    this.metadata = details.metadata ?? {};
    this.violations = details.violations ?? [];
  }
}

function described(message: string, details: ErrorDetails): string {
  const fields = (details.violations ?? [])
    .filter(({ description }) => !message.includes(description))
    .map(({ field, description }) => `${field}: ${description}`);
  return (
    (details.code ? `${details.code}: ` : "") + message + (fields.length ? ` (${fields.join("; ")})` : "")
  );
}

const localReasons: Record<ErrorKind, LocalReason> = {
  unreachable: "sidecar_unreachable",
  budget_exceeded: "sidecar_timeout",
  sidecar_failed: "sidecar_failed",
  circuit_open: "circuit_open",
  call_refused: "request_refused",
  invalid_request: "request_refused",
  too_large: "request_refused",
  closed: "client_closed",
  caller_gone: "caller_gone",
  client_fault: "client_fault",
};

/** Returns the reason of a bypass or a refusal that carries the error. */
export function localReason(error: AskOnceError): LocalReason {
  return localReasons[error.kind];
}

/** Says whether the failure is one of the sidecar's health. Such failures open the circuit breaker. */
export function ailing(error: AskOnceError): boolean {
  return error.kind === "unreachable" || error.kind === "budget_exceeded" || error.kind === "sidecar_failed";
}

/** Returns the error that anything thrown stands for: a bug of this client, unless it is known. */
export function asError(thrown: unknown): AskOnceError {
  if (thrown instanceof AskOnceError) return thrown;
  const name = thrown instanceof Error ? thrown.name : typeof thrown;
  return new AskOnceError("client_fault", `a bug in the client: ${name}`);
}

export function callerGone(): AskOnceError {
  return new AskOnceError("caller_gone", "the caller's signal aborted");
}

export function outOfTime(): AskOnceError {
  return new AskOnceError("budget_exceeded", "no time was left to ask the sidecar");
}
