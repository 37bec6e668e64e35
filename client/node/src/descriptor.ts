/** JSON as text, as its UTF-8 bytes, or as a value that is yet to be written. */
export type Json = string | Uint8Array | object;

/** An upstream in the gateway's own vocabulary; names are taken as they are. */
export interface Target {
  provider: string;
  model: string;
}

/**
 * Who may share an answer, for example `{tenant: "acme"}`. The rule picks and orders the dims that it uses; one of
 * them that is missing bypasses the cache.
 */
export type Scope = Readonly<Record<string, string>>;

/** A request in four normalized parts, each a JSON document: as text or UTF-8, and an absent one left out. */
export interface Parts {
  /** The array of turns, or the input of an embeddings call. */
  messages?: string | Uint8Array | undefined;
  /** The system prompt where the dialect keeps it apart from the turns: a JSON string or array. */
  system?: string | Uint8Array | undefined;
  /** The array of tool definitions. */
  tools?: string | Uint8Array | undefined;
  /** The object of every other member that is forwarded to the provider. */
  params?: string | Uint8Array | undefined;
}

/**
 * A request as digests of the gateway's own canonical forms, 32 bytes each, for gateways that may not show content. A
 * fact that is left out counts as true, the worst case.
 */
export interface Digests {
  exactSha256: Uint8Array;
  normalizedSha256?: Uint8Array | undefined;
  canonicalization: string;
  canonicalizationVersion: string;
  facts?:
    | {
        /** Neither a temperature of 0 nor a seed. */
        sampling?: boolean | undefined;
        /** A URL or a file id. */
        remoteContent?: boolean | undefined;
        /** State that the provider keeps. */
        stateful?: boolean | undefined;
        /** The answer will depend on who asks. */
        personalized?: boolean | undefined;
      }
    | undefined;
}

/** A vector that the gateway made itself. */
export interface Embedding {
  embedder: string;
  values: ArrayLike<number>;
}

/** What a request says: the provider's own body (text or bytes are sent as they are), parts, or digests. */
export type Content = { bodyJson: Json } | { parts: Parts } | { digests: Digests };

/**
 * One LLM request: who asks, which route it takes, what it says. Everything in it that can change the response is key
 * material. It is the gateway's word for what leaves it: `served` is the upstream that will be called now, after
 * routing, and the content is what it will be sent.
 */
export interface Descriptor {
  dialect: string;
  endpoint: string;
  content?: Content | undefined;
  served?: Target | undefined;
  /** What the client asked for, for rules that key on it. */
  requested?: Target | undefined;
  routeId?: string | undefined;
  /** Required with `routeId`. */
  routeVersion?: string | undefined;
  ruleBranch?: string | undefined;
  /** Whether the caller wants a stream. A provider's body says it itself, so it is left out with one. */
  stream?: boolean | undefined;
  scope?: Scope | undefined;
  /** Versions that change answers without being in the body, for example that of a prompt template. */
  versions?: Readonly<Record<string, string>> | undefined;
  /** Forwarded headers that change answers, for example `anthropic-beta`. */
  headers?: Readonly<Record<string, string>> | undefined;
  embedding?: Embedding | undefined;
  /** Whether the answer will depend on who asks. */
  personalized?: boolean | undefined;
  /** Facts for rule matching and traces; never key material. */
  attributes?: Readonly<Record<string, string>> | undefined;
}

/** Describes a body of POST /v1/chat/completions. */
export function openAIChat(body: Json, served: Target, scope: Scope): Descriptor {
  return { dialect: "openai", endpoint: "chat", content: { bodyJson: body }, served, scope };
}

/** Describes a body of POST /v1/responses. */
export function openAIResponses(body: Json, served: Target, scope: Scope): Descriptor {
  return { dialect: "openai", endpoint: "responses", content: { bodyJson: body }, served, scope };
}

/** Describes a body of POST /v1/embeddings. */
export function openAIEmbeddings(body: Json, served: Target, scope: Scope): Descriptor {
  return { dialect: "openai", endpoint: "embeddings", content: { bodyJson: body }, served, scope };
}

/** Describes a body of POST /v1/messages. */
export function anthropicMessages(body: Json, served: Target, scope: Scope): Descriptor {
  return { dialect: "anthropic", endpoint: "messages", content: { bodyJson: body }, served, scope };
}
