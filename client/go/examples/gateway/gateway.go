package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	askonce "github.com/askonce/askonce/client/go"
	"github.com/askonce/askonce/client/go/streams"
)

const (
	mostRequestBytes = 8 << 20
	// mostAnswerBytes is how much of an answer is kept to be stored; the sidecar's own limit is `admission.max_body`.
	mostAnswerBytes = 4 << 20
)

// endpoint is one API of a provider: how its requests are described and its answers are read.
type endpoint struct {
	dialect  string
	api      streams.API // empty: no streams
	describe func(body []byte, served askonce.Target, scope askonce.Scope) askonce.Descriptor
	read     func(status int, body []byte) askonce.UpstreamResponse
}

var endpoints = map[string]endpoint{
	"/v1/chat/completions": {"openai", streams.OpenAIChat, askonce.OpenAIChat, askonce.FromOpenAIChat},
	"/v1/responses":        {"openai", streams.OpenAIResponses, askonce.OpenAIResponses, askonce.FromOpenAIResponses},
	"/v1/embeddings":       {"openai", "", askonce.OpenAIEmbeddings, askonce.FromOpenAIEmbeddings},
	"/v1/messages": {
		"anthropic", streams.AnthropicMessages, askonce.AnthropicMessages, askonce.FromAnthropicMessages,
	},
}

// keyedHeaders are forwarded, and change answers.
var keyedHeaders = []string{"Anthropic-Beta", "Anthropic-Version", "OpenAI-Beta"}

// Gateway answers requests from the cache or from a provider.
type Gateway struct {
	config *Config
	cache  *askonce.Client
	client *http.Client
}

func newGateway(config *Config, cache *askonce.Client) http.Handler {
	gateway := &Gateway{config: config, cache: cache, client: &http.Client{
		Transport:     tracedTransport(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // with our key
	}}
	mux := http.NewServeMux()
	for path, endpoint := range endpoints {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			call := &call{gateway: gateway, endpoint: endpoint, w: w, r: r, id: rand.Text()}
			w.Header().Set("X-Request-Id", call.id)
			if err := call.serve(); err != nil {
				call.refuse(err)
			}
		})
	}
	return mux
}

// refusal is an answer of the gateway's own.
type refusal struct {
	status int
	why    string
}

func (r refusal) Error() string { return r.why }

func malformed(why string) error { return refusal{http.StatusBadRequest, why} }

// call is one request on its way through the gateway.
type call struct {
	gateway  *Gateway
	endpoint endpoint
	w        http.ResponseWriter
	r        *http.Request
	id       string
	body     map[string]json.RawMessage
	stream   bool
	routes   []Route
}

// serve is the path of a request: who asks, what and where to; then the cache; then the provider.
func (c *call) serve() error {
	tenant, err := c.authenticate()
	if err != nil {
		return err
	}
	controls, err := c.read()
	if err != nil {
		return err
	}
	served := c.routes[0].target()
	descriptor := c.endpoint.describe(c.bodyFor(c.routes[0]), served, askonce.Scope{"tenant": tenant})
	descriptor.Headers = map[string]string{}
	for _, name := range keyedHeaders {
		if values := c.r.Header.Values(name); len(values) > 0 {
			descriptor.Headers[strings.ToLower(name)] = strings.Join(values, ", ")
		}
	}
	if c.r.URL.RawQuery != "" {
		descriptor.Versions = map[string]string{"query": c.r.URL.RawQuery}
	}
	claim, err := c.gateway.cache.Claim(c.r.Context(), descriptor,
		askonce.WithControls(controls), askonce.WithRequestID(c.id),
		askonce.WithAccepts(askonce.ShapeStream, askonce.ShapeJSON))
	defer claim.Abandon(c.r.Context()) // unless the answer is stored
	if err != nil {
		return err
	}
	if claim.Decision.Hit() {
		if served, err := c.reply(claim.Decision); served || err != nil {
			return err
		}
	}
	return c.forward(claim)
}

// authenticate returns the tenant that the caller's key belongs to.
func (c *call) authenticate() (string, error) {
	key := c.r.Header.Get("X-Api-Key")
	if token, ok := strings.CutPrefix(c.r.Header.Get("Authorization"), "Bearer "); ok {
		key = token
	}
	tenant := c.gateway.config.Keys[key]
	if tenant == "" {
		return "", refusal{http.StatusUnauthorized, "there is no such API key"}
	}
	return tenant, nil
}

// read reads the request and returns what it asks of the cache.
func (c *call) read() (askonce.Controls, error) {
	var none askonce.Controls
	raw, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, mostRequestBytes))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return none, refusal{http.StatusRequestEntityTooLarge, "the request is too large"}
	}
	if err != nil {
		return none, malformed("the request cannot be read")
	}
	if json.Unmarshal(raw, &c.body) != nil || c.body == nil {
		return none, malformed("the body is no JSON object")
	}
	var model string
	if json.Unmarshal(c.body["model"], &model) != nil {
		return none, malformed("model must be a string")
	}
	if said, ok := c.body["stream"]; ok && json.Unmarshal(said, &c.stream) != nil {
		return none, malformed("stream must be a boolean")
	}
	for _, route := range c.gateway.config.Routes[model] {
		if c.gateway.config.Providers[route.Provider].Dialect == c.endpoint.dialect {
			c.routes = append(c.routes, route)
		}
	}
	if len(c.routes) == 0 {
		return none, refusal{http.StatusNotFound, fmt.Sprintf("there is no model %q here", model)}
	}
	controls, err := controlsOf(c.r.Header, c.body["cache"])
	delete(c.body, "cache") // it is the gateway's, not the provider's
	return controls, err
}

// bodyFor returns the body that a target is sent: the caller's, with the target's model.
func (c *call) bodyFor(route Route) []byte {
	name, _ := json.Marshal(route.Model) // a string always can be
	c.body["model"] = name
	body, _ := json.Marshal(c.body) // these are members that were read
	return body
}

// forward calls the provider, hands its answer on while it comes, and stores it when it came whole.
func (c *call) forward(claim *askonce.Claim) error {
	began := time.Now()
	answer, route, err := c.upstream()
	if err != nil {
		return refusal{http.StatusBadGateway, "no provider can be reached"}
	}
	defer func() { _ = answer.Body.Close() }()
	c.describeDecision(claim.Decision)
	recorded, brokeOff := c.tee(answer)
	response := c.endpoint.read(answer.StatusCode, recorded)
	whole := brokeOff == nil
	if c.stream {
		whole = response.StreamComplete // callers leave at the last event, which may be before the provider's end
	}
	if brokeOff != nil && !whole {
		// A part of the answer is sent. Ending the connection is all that tells the caller so.
		panic(http.ErrAbortHandler)
	}
	if !whole || len(recorded) > mostAnswerBytes {
		return nil
	}
	response.CostUSD = route.cost(response.Usage)
	response.Served = route.target()
	response.FallbackUsed = route != c.routes[0]
	response.SourceRequestID = c.id
	response.RequestStartTime = began
	claim.StoreAsync(c.r.Context(), response) // the caller has its answer and does not wait for the cache
	return nil
}

// refuse answers with an error in the dialect's shape.
func (c *call) refuse(err error) {
	refused := refusal{http.StatusInternalServerError, "the gateway failed"}
	errors.As(err, &refused)
	kind := map[int]string{
		http.StatusUnauthorized: "authentication_error",
		http.StatusNotFound:     "not_found_error",
		http.StatusBadGateway:   "api_error",
	}[refused.status]
	if kind == "" {
		kind = "invalid_request_error"
	}
	said := map[string]any{"error": map[string]any{"type": kind, "message": refused.why, "param": nil, "code": nil}}
	if c.endpoint.dialect == "anthropic" {
		said = map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": refused.why}}
	}
	c.w.Header().Set("Content-Type", "application/json")
	c.w.WriteHeader(refused.status)
	_ = json.NewEncoder(c.w).Encode(said)
}
