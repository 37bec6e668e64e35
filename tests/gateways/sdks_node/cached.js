// The example's fetch, with time enough for a machine that is busy.

import { AskOnce } from "../../../client/node/dist/esm/index.js";
import { cachingFetch } from "../../../client/node/build/examples/fetch.js";

export function cached(target, options = {}) {
  const cache = new AskOnce(target, { budgetMs: 30_000, storeTimeoutMs: 60_000, ...options });
  return { cache, fetch: cachingFetch(cache, { tenant: "acme" }) };
}
