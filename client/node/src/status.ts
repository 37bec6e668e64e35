import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { status as Code } from "@grpc/grpc-js";

import { AskOnceError, type ErrorDetails, type ErrorKind, type Violation } from "./errors.js";
import type { ItemError } from "./gen/askonce/v1/decision_service_pb.js";

/** How a call ended that brought no answer, as a transport saw it. */
export interface Status {
  /** The gRPC status code. */
  code: number;
  message: string;
  /** A serialized google.rpc.Status, from the trailer grpc-status-details-bin. */
  details?: Uint8Array | undefined;
}

/** What the sidecar's status codes stand for; every other code is a fault of the sidecar. */
const kinds: Partial<Record<number, ErrorKind>> = {
  [Code.UNAVAILABLE]: "unreachable",
  [Code.DEADLINE_EXCEEDED]: "budget_exceeded",
  [Code.INVALID_ARGUMENT]: "invalid_request",
  [Code.FAILED_PRECONDITION]: "invalid_request",
  [Code.OUT_OF_RANGE]: "invalid_request",
  [Code.RESOURCE_EXHAUSTED]: "too_large",
  [Code.UNIMPLEMENTED]: "call_refused",
  [Code.UNAUTHENTICATED]: "call_refused",
  [Code.PERMISSION_DENIED]: "call_refused",
  [Code.NOT_FOUND]: "call_refused",
};

/** Returns the error that a failed call stands for. */
export function errorOfStatus({ code, message, details }: Status): AskOnceError {
  const read = details === undefined ? {} : readDetails(details);
  return errorOf(code, message, read);
}

/** Returns the error of one item of a batch: the one that the single call would have had. */
export function errorOfItem({ code, message, reason, violations }: ItemError): AskOnceError {
  const fields = violations.map(({ field, description }) => ({ field, description }));
  return errorOf(code, message, { reason, violations: fields });
}

function errorOf(code: number, message: string, details: ErrorDetails): AskOnceError {
  const name = Code[code] ?? "UNKNOWN";
  return new AskOnceError(kinds[code] ?? "sidecar_failed", message || "no reason was given", {
    ...details,
    code: name,
  });
}

/** Reads google.rpc.Status. Details are an extra: what cannot be read must not hide the failure itself. */
function readDetails(raw: Uint8Array): ErrorDetails {
  const found = { reason: "", metadata: {} as Record<string, string>, violations: [] as Violation[] };
  try {
    for (const detail of fields(raw).get(3) ?? []) {
      const any = fields(detail);
      const type = textOf(any, 1).split("/").pop();
      const value = fields(any.get(2)?.[0] ?? new Uint8Array());
      if (type === "google.rpc.ErrorInfo") {
        found.reason = textOf(value, 1);
        for (const entry of value.get(3) ?? []) {
          found.metadata[textOf(fields(entry), 1)] = textOf(fields(entry), 2);
        }
      } else if (type === "google.rpc.BadRequest") {
        for (const violation of value.get(1) ?? []) {
          const said = fields(violation);
          found.violations.push({ field: textOf(said, 1), description: textOf(said, 2) });
        }
      }
    }
  } catch {
    return {};
  }
  return found;
}

/** Returns the fields of a message that have bytes, by number: all that is needed of the few messages above. */
function fields(raw: Uint8Array): Map<number, Uint8Array[]> {
  const found = new Map<number, Uint8Array[]>();
  const reader = new BinaryReader(raw);
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    if (type === WireType.LengthDelimited) {
      found.set(number, [...(found.get(number) ?? []), reader.bytes()]);
    } else {
      reader.skip(type, number);
    }
  }
  return found;
}

function textOf(message: Map<number, Uint8Array[]>, number: number): string {
  return new TextDecoder().decode(message.get(number)?.at(-1));
}
