import type { Status } from "./status.js";

/** What goes along with one call on the wire. */
export interface Along {
  /** The last moment at which the sidecar may answer, in milliseconds since 1970. */
  deadline: number;
  metadata: Readonly<Record<string, string>>;
}

/** How a call ended: a status without an answer, or an answer. */
export type Done = (failed: Status | undefined, answer: Uint8Array) => void;

/** Carries calls to a sidecar. Give a client another one to bring a connection of your own. */
export interface Transport {
  /**
   * Makes one call of the method at a path such as /askonce.v1.DecisionService/Lookup, and calls `done` once. Returns
   * what cancels the call; its `done` is not listened to any more then.
   */
  unary(path: string, request: Uint8Array, along: Along, done: Done): () => void;
  close(): void;
}
