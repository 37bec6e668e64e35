package askonce

import (
	"encoding/json"
	"time"

	"github.com/askonce/askonce/client/go/streams"
)

// UpstreamResponse is an answer of the provider, with what must be known to store it. What is left unsaid counts
// against storing. Make one with FromOpenAIChat and its siblings, which read it off the body.
type UpstreamResponse struct {
	// Body is replayed unchanged.
	Body        []byte
	ContentType string
	// StatusCode is the provider's HTTP status. Outside 200 to 299 nothing is stored.
	StatusCode int
	// FinishReasons are those of every choice, in the dialect's words.
	FinishReasons []string
	// StreamComplete says whether the stream came to its terminal event. Required for streams.
	StreamComplete bool
	Usage          *Usage
	// CostUSD is what the provider charged. Nil: unknown.
	CostUSD           *float64
	ContainsToolCalls bool
	// Refused says that the model refused.
	Refused                 bool
	OutputGuardrailModified bool
	// GuardrailFailedOpen says that an output guardrail could not run and let the answer pass.
	GuardrailFailedOpen bool
	// Cacheable says whether the answer may be stored. Nil: it may.
	Cacheable *bool
	// Served is the upstream that answered. Zero: as looked up.
	Served       Target
	FallbackUsed bool
	// SourceRequestID is carried by a later hit.
	SourceRequestID string
	// RequestStartTime is when the request to the provider began. Zero: when it was looked up.
	RequestStartTime time.Time
}

// FromOpenAIChat reads an answer of POST /v1/chat/completions, a document or a recorded stream. What it cannot read
// stays unsaid, which counts against storing; so it is with its siblings.
func FromOpenAIChat(status int, body []byte) UpstreamResponse {
	return upstream(status, body, streams.Inspect(streams.OpenAIChat, body))
}

// FromOpenAIResponses reads an answer of POST /v1/responses.
func FromOpenAIResponses(status int, body []byte) UpstreamResponse {
	return upstream(status, body, streams.Inspect(streams.OpenAIResponses, body))
}

// FromAnthropicMessages reads an answer of POST /v1/messages.
func FromAnthropicMessages(status int, body []byte) UpstreamResponse {
	return upstream(status, body, streams.Inspect(streams.AnthropicMessages, body))
}

// FromOpenAIEmbeddings reads an answer of POST /v1/embeddings.
func FromOpenAIEmbeddings(status int, body []byte) UpstreamResponse {
	response := upstream(status, body, streams.Answer{})
	var document struct {
		Usage *struct {
			PromptTokens *uint64 `json:"prompt_tokens"`
		} `json:"usage"`
	}
	if json.Unmarshal(body, &document) == nil && document.Usage != nil && document.Usage.PromptTokens != nil {
		response.Usage = &Usage{InputTokens: *document.Usage.PromptTokens}
	}
	return response
}

func upstream(status int, body []byte, answer streams.Answer) UpstreamResponse {
	response := UpstreamResponse{
		Body:              body,
		ContentType:       "application/json",
		StatusCode:        status,
		FinishReasons:     answer.FinishReasons,
		StreamComplete:    answer.Complete,
		ContainsToolCalls: answer.ToolCalls,
		Refused:           answer.Refused,
	}
	if answer.Stream {
		response.ContentType = "text/event-stream"
	}
	if answer.Usage != nil {
		response.Usage = &Usage{InputTokens: answer.Usage.Input, OutputTokens: answer.Usage.Output}
	}
	if answer.Failed {
		no := false
		response.Cacheable = &no
	}
	return response
}
