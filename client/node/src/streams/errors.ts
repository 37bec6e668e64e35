/**
 * Why an answer cannot be given in the other shape.
 *
 * - `lossy`: something would be lost
 * - `incomplete`: the stream did not come to its end, or carries an error
 * - `not_understood`: the body is not an answer of its endpoint
 */
export type StreamErrorKind = "lossy" | "incomplete" | "not_understood";

/** An answer that cannot be given in the other shape. */
export class StreamError extends Error {
  override readonly name = "StreamError";

  constructor(
    readonly kind: StreamErrorKind,
    why: string,
  ) {
    super(why);
  }
}

export function lossy(why: string): StreamError {
  return new StreamError("lossy", why);
}

export function incomplete(why: string): StreamError {
  return new StreamError("incomplete", why);
}

export function notUnderstood(why: string): StreamError {
  return new StreamError("not_understood", why);
}
