/**
 * The plain `fetch` with AskOnce before it, for a program that has no gateway. Give it to an SDK of OpenAI's or
 * Anthropic's as its `fetch`.
 */

import {
  anthropicMessages,
  type AskOnce,
  type Claim,
  type Descriptor,
  fromAnthropicMessages,
  fromOpenAIChat,
  fromOpenAIEmbeddings,
  fromOpenAIResponses,
  openAIChat,
  openAIEmbeddings,
  openAIResponses,
  type Scope,
  type UpstreamResponse,
} from "askonce";
import { parseObject } from "askonce/streams";

type Fetch = typeof fetch;

/** One API: how its requests are described and its answers are read. */
interface Endpoint {
  describe: typeof openAIChat;
  read: (status: number, body: Uint8Array) => UpstreamResponse;
}

const endpoints = new Map<string, Endpoint>([
  ["/v1/chat/completions", { describe: openAIChat, read: fromOpenAIChat }],
  ["/v1/responses", { describe: openAIResponses, read: fromOpenAIResponses }],
  ["/v1/embeddings", { describe: openAIEmbeddings, read: fromOpenAIEmbeddings }],
  ["/v1/messages", { describe: anthropicMessages, read: fromAnthropicMessages }],
]);

/** Headers that change answers. */
const keyedHeaders = ["anthropic-beta", "anthropic-version", "openai-beta"];

/** How much of an answer is read ahead, and kept to be stored; the sidecar's own limit is `admission.max_body`. */
const MOST_ANSWER_BYTES = 4 * 2 ** 20;

/**
 * Returns a fetch that answers calls of these APIs from the cache, or from `next`, and then stores what came;
 * `Cache-Status` says which. Streams are handed on while they come. Every other call passes as it is, and so does one
 * with a query, with a body that is neither text nor bytes, or with a `cache` mode of its own. Unless the client is
 * strict, nothing that happens to the sidecar is an error. A Response that was not passed has no `url`.
 */
export function cachingFetch(cache: AskOnce, scope: Scope, next: Fetch = fetch): Fetch {
  return async (input, init) => {
    const call = await readCall(input, init ?? {}, scope);
    if (call === undefined) return next(input, init);
    const claim = await cache.claim(call.descriptor, { signal: call.init.signal ?? undefined });
    const { decision } = claim;
    if (decision.hit) {
      const headers = { "content-type": decision.contentType, "cache-status": decision.cacheStatus };
      return new Response(new Uint8Array(decision.body), { headers }); // a copy: it may be shared
    }
    try {
      return handOn(await next(call.input, call.init), claim, call.read);
    } catch (thrown) {
      void claim.abandon(); // others may wait for this answer
      throw thrown;
    }
  };
}

/** A call of one of these APIs, copied, since its caller may change what it gave while that is looked up. */
interface Call {
  input: string | Request;
  init: RequestInit;
  descriptor: Descriptor;
  read: Endpoint["read"];
}

/** Reads a call; undefined when it has to pass as it is. */
async function readCall(
  input: string | URL | Request,
  init: RequestInit & { cache?: string },
  scope: Scope,
): Promise<Call | undefined> {
  const request = input instanceof Request ? input : undefined;
  const url = request?.url ?? String(input);
  const [, provider = "", path = ""] = /^https?:\/\/([^?#@]+)(\/v1\/[^?#]+)$/.exec(url) ?? [];
  const endpoint = endpoints.get(path);
  const { method = request?.method, signal = request?.signal, cache = request?.cache ?? "default" } = init;
  if (endpoint === undefined || method?.toUpperCase() !== "POST" || cache !== "default") return undefined;
  const headers = new Headers(init.headers ?? request?.headers);
  const copy = request?.clone();
  const given = init.body instanceof Uint8Array ? new Uint8Array(init.body) : init.body;
  const body = given ?? (copy && new Uint8Array(await copy.clone().arrayBuffer()));
  if (typeof body !== "string" && !(body instanceof Uint8Array)) return undefined;
  const model = modelOf(body);
  if (model === undefined) return undefined;
  const keyed = Object.fromEntries([...headers].filter(([name]) => keyedHeaders.includes(name)));
  return {
    input: copy ?? url,
    init: { ...init, headers, signal: signal ?? null, body: given ?? null },
    descriptor: { ...endpoint.describe(body, { provider, model }, scope), headers: keyed },
    read: endpoint.read,
  };
}

/** Returns the model that a body names; undefined when it names none. */
function modelOf(body: string | Uint8Array): string | undefined {
  const model: unknown = JSON.parse(parseObject(Buffer.from(body).toString())?.get("model") ?? "null");
  return typeof model === "string" ? model : undefined;
}

/** Hands an answer on while it comes, and stores it if it came whole. */
function handOn(answer: Response, claim: Claim, read: Endpoint["read"]): Response {
  const { body, status, statusText } = answer;
  const headers = new Headers(answer.headers);
  headers.set("cache-status", claim.decision.cacheStatus);
  if (body === null || !claim.decision.storeAnswer) {
    void claim.abandon();
    return new Response(body, { status, statusText, headers });
  }
  const ended = (kept: Uint8Array | undefined, whole: boolean) => {
    const response = kept && read(status, kept);
    // Who reads a stream may leave at its last event, before the provider's end.
    if (response && (whole || response.streamComplete)) claim.storeAsync(response);
    else void claim.abandon();
  };
  return new Response(recorded(body, ended), { status, statusText, headers });
}

/**
 * Returns a body that is read ahead of its reader, so that those who wait for the answer do not wait for that one too.
 * Tells at its end what came, unless that is too much, and whether it is whole.
 */
function recorded(
  body: ReadableStream<Uint8Array>,
  ended: (kept: Uint8Array | undefined, whole: boolean) => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  const end = (whole: boolean) =>
    ended(bytes <= MOST_ANSWER_BYTES ? Buffer.concat(pieces) : undefined, whole);
  const source = {
    async pull(controller: ReadableStreamDefaultController<Uint8Array>) {
      const { done, value } = await reader.read().catch((thrown: unknown) => {
        end(false);
        throw thrown;
      });
      if (done) {
        end(true);
        controller.close();
        return;
      }
      bytes += value.length;
      if (bytes <= MOST_ANSWER_BYTES) pieces.push(Buffer.from(value)); // a copy: the reader owns what it is given
      controller.enqueue(value);
    },
    cancel(reason: unknown) {
      end(false);
      return reader.cancel(reason);
    },
  };
  return new ReadableStream(source, new ByteLengthQueuingStrategy({ highWaterMark: MOST_ANSWER_BYTES }));
}
