/** An answer of the gateway's own. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    why: string,
  ) {
    super(why);
  }
}

export function malformed(why: string): Refusal {
  return new Refusal(400, why);
}

const kinds: Record<number, string> = {
  401: "authentication_error",
  404: "not_found_error",
  502: "api_error",
};

/** Writes an error in the dialect's shape. */
export function errorBody({ status, message }: Refusal, dialect: string): string {
  const type = kinds[status] ?? "invalid_request_error";
  if (dialect === "anthropic") return JSON.stringify({ type: "error", error: { type, message } });
  return JSON.stringify({ error: { type, message, param: null, code: null } });
}
