package askonce

import pb "github.com/askonce/askonce/client/go/gen/askonce/v1"

// Target is an upstream in the gateway's own vocabulary; names are taken as they are.
type Target struct {
	Provider string
	Model    string
}

// Scope says who may share an answer, for example {"tenant": "acme"}. The rule picks and orders the dims that it
// uses; one of them that is missing bypasses the cache.
type Scope map[string]string

// Content is what a request says: a ProviderBody, Parts or Digests.
type Content interface {
	describe(*pb.RequestDescriptor)
}

// ProviderBody is the provider's own request body, as JSON in UTF-8. It is sent as it is.
type ProviderBody []byte

// Parts is a request in four normalized parts, each a JSON document in UTF-8; an empty one is absent.
type Parts struct {
	// Messages is the array of turns, or the input of an embeddings call.
	Messages []byte
	// System is the system prompt where the dialect keeps it apart from the turns.
	System []byte
	// Tools is the array of tool definitions.
	Tools []byte
	// Params is the object of every other member that is forwarded to the provider.
	Params []byte
}

// Digests is a request as digests of the gateway's own canonical forms, 32 bytes each, for gateways that may not
// show content.
type Digests struct {
	ExactSHA256             []byte
	NormalizedSHA256        []byte
	Canonicalization        string
	CanonicalizationVersion string
	Facts                   DigestFacts
}

// DigestFacts says what digests cannot. Nil counts as true, the worst case.
type DigestFacts struct {
	Sampling      *bool // Neither a temperature of 0 nor a seed.
	RemoteContent *bool // A URL or a file id.
	Stateful      *bool // State that the provider keeps.
	Personalized  *bool // The answer will depend on who asks.
}

// Embedding is a vector that the gateway made itself.
type Embedding struct {
	Embedder string
	Values   []float32
}

// Descriptor is one LLM request: who asks, which route it takes, what it says. Everything in it that can change
// the response is key material. It is the gateway's word for what leaves it: Served is the upstream that will be
// called now, and the content what that upstream will be sent.
type Descriptor struct {
	// Dialect says whose shapes the content follows, for example "openai" or "anthropic".
	Dialect string
	// Endpoint is "chat", "responses", "messages", "embeddings", …
	Endpoint string
	Content  Content
	// Served is the upstream that the gateway will call now, after routing.
	Served Target
	// Requested is the upstream that the client asked for.
	Requested Target
	RouteID   string
	// RouteVersion is required with RouteID.
	RouteVersion string
	RuleBranch   string
	// Stream says whether the caller wants a stream. A ProviderBody says it itself, so nil.
	Stream *bool
	Scope  Scope
	// Versions change answers without being in the body, for example that of a prompt template.
	Versions map[string]string
	// Headers are forwarded and change answers, for example anthropic-beta.
	Headers   map[string]string
	Embedding *Embedding
	// Personalized says that the answer will depend on who asks.
	Personalized bool
	// Attributes are facts for rule matching and traces; never key material.
	Attributes map[string]string
}

// OpenAIChat describes a body of POST /v1/chat/completions.
func OpenAIChat(body []byte, served Target, scope Scope) Descriptor {
	return providerBody("openai", "chat", body, served, scope)
}

// OpenAIResponses describes a body of POST /v1/responses.
func OpenAIResponses(body []byte, served Target, scope Scope) Descriptor {
	return providerBody("openai", "responses", body, served, scope)
}

// OpenAIEmbeddings describes a body of POST /v1/embeddings.
func OpenAIEmbeddings(body []byte, served Target, scope Scope) Descriptor {
	return providerBody("openai", "embeddings", body, served, scope)
}

// AnthropicMessages describes a body of POST /v1/messages.
func AnthropicMessages(body []byte, served Target, scope Scope) Descriptor {
	return providerBody("anthropic", "messages", body, served, scope)
}

func providerBody(dialect, endpoint string, body []byte, served Target, scope Scope) Descriptor {
	content := ProviderBody(body)
	return Descriptor{Dialect: dialect, Endpoint: endpoint, Content: content, Served: served, Scope: scope}
}
