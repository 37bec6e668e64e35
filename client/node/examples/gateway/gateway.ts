import { randomUUID } from "node:crypto";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";

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
  type UpstreamResponse,
} from "askonce";
import type { Api } from "askonce/streams";

import { type Config, costOf, targetOf } from "./config.js";
import { errorBody, Refusal } from "./refusal.js";
import { describeDecision, replyFromCache } from "./reply.js";
import { type Asked, authenticate, bodyFor, readRequest } from "./request.js";
import { callUpstream, keyedHeaders, tee } from "./upstream.js";

/** One API of a provider: how its requests are described and its answers are read. */
interface Endpoint {
  dialect: "openai" | "anthropic";
  /** Undefined: no streams. */
  api: Api | undefined;
  describe: typeof openAIChat;
  read: (status: number, body: Uint8Array) => UpstreamResponse;
}

const endpoints = new Map<string, Endpoint>([
  [
    "/v1/chat/completions",
    { dialect: "openai", api: "openai-chat", describe: openAIChat, read: fromOpenAIChat },
  ],
  [
    "/v1/responses",
    { dialect: "openai", api: "openai-responses", describe: openAIResponses, read: fromOpenAIResponses },
  ],
  [
    "/v1/embeddings",
    { dialect: "openai", api: undefined, describe: openAIEmbeddings, read: fromOpenAIEmbeddings },
  ],
  [
    "/v1/messages",
    {
      dialect: "anthropic",
      api: "anthropic-messages",
      describe: anthropicMessages,
      read: fromAnthropicMessages,
    },
  ],
]);

/** Answers requests from the cache or from a provider. */
export function newGateway(config: Config, cache: AskOnce): RequestListener {
  return (request, reply) => {
    const endpoint = endpoints.get(request.url?.split("?")[0] ?? "");
    if (endpoint === undefined || request.method !== "POST") {
      reply.writeHead(endpoint === undefined ? 404 : 405).end();
      return;
    }
    const call = new Call(config, cache, endpoint, request, reply);
    call.serve().catch((thrown: unknown) => call.refuse(thrown));
  };
}

/** One request on its way through the gateway. */
class Call {
  readonly #id = randomUUID();
  readonly #gone = new AbortController();

  constructor(
    private readonly config: Config,
    private readonly cache: AskOnce,
    private readonly endpoint: Endpoint,
    private readonly request: IncomingMessage,
    private readonly reply: ServerResponse,
  ) {
    reply.setHeader("x-request-id", this.#id);
    reply.once("close", () => this.#gone.abort()); // after the end of an answer it has no effect
  }

  /** Is the path of a request: who asks, what and where to; then the cache; then the provider. */
  async serve(): Promise<void> {
    const tenant = authenticate(this.request, this.config);
    const asked = await readRequest(this.request, this.config, this.endpoint.dialect);
    const claim = await this.cache.claim(this.#describe(asked, tenant), {
      controls: asked.controls,
      requestId: this.#id,
      accepts: ["stream", "json"],
      signal: this.#gone.signal,
    });
    try {
      const { decision } = claim;
      const pauseMs = this.config.replay_pause_ms ?? 0;
      const served =
        decision.hit && (await replyFromCache(this.reply, decision, asked, this.endpoint.api, pauseMs));
      if (!served) await this.#forward(asked, claim);
    } finally {
      void claim.abandon(); // unless the answer is stored
    }
  }

  /** Describes what leaves this gateway: the target that will be called, and the body that it will be sent. */
  #describe(asked: Asked, tenant: string): Descriptor {
    const [route] = asked.routes;
    const headers: Record<string, string> = {};
    for (const name of keyedHeaders) {
      const value = this.request.headers[name];
      if (value !== undefined) headers[name] = String(value);
    }
    const descriptor = this.endpoint.describe(bodyFor(asked, route), targetOf(route), { tenant });
    const query = this.request.url?.split("?").slice(1).join("?");
    return { ...descriptor, headers, ...(query ? { versions: { query } } : {}) };
  }

  /** Calls the provider, hands its answer on while it comes, and stores it when it came whole. */
  async #forward(asked: Asked, claim: Claim): Promise<void> {
    const requestStartTime = new Date();
    const path = this.request.url ?? "";
    const { signal } = this.#gone;
    const { answer, route } = await callUpstream(
      this.config,
      asked,
      path,
      this.request.headers,
      signal,
    ).catch(() => {
      throw new Refusal(502, "no provider can be reached");
    });
    describeDecision(this.reply, claim.decision);
    const { kept, brokeOff } = await tee(answer, this.reply, signal);
    const response = kept && this.endpoint.read(answer.status, kept);
    // Callers leave at the last event of a stream, which may be before the provider's end.
    const whole = asked.stream ? response?.streamComplete === true : brokeOff === undefined;
    if (brokeOff !== undefined && !whole) throw brokeOff;
    if (response !== undefined && whole) {
      // The caller has its answer and does not wait for the cache.
      claim.storeAsync({
        ...response,
        costUsd: costOf(route, response.usage),
        served: targetOf(route),
        fallbackUsed: route !== asked.routes[0],
        sourceRequestId: this.#id,
        requestStartTime,
      });
    }
    this.reply.end();
  }

  /** Answers with an error in the dialect's shape. */
  refuse(thrown: unknown): void {
    if (this.reply.headersSent) {
      this.reply.destroy(); // a part of the answer is sent: ending the connection is all that tells the caller so
      return;
    }
    const refused = thrown instanceof Refusal ? thrown : new Refusal(500, "the gateway failed");
    this.reply.writeHead(refused.status, { "content-type": "application/json" });
    this.reply.end(errorBody(refused, this.endpoint.dialect));
  }
}
