/** A stand-in for tests of code that uses the client: the same client, around an imagined sidecar in memory. */

export { FakeAskOnce } from "./fake.js";
export type { DecisionMessage, LookupMessage, StoreMessage } from "./sidecar.js";
