// Package openaigo_test asks a gateway through the official OpenAI SDK for Go. It is started by test_openai_go.py,
// which says where the gateway and the fake provider are.
package openaigo_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

// provider is the fake provider, tests/gateways/fake_provider.py.
type provider struct {
	t   *testing.T
	url string
}

func (p *provider) request(method, path, body string) []byte {
	p.t.Helper()
	request, err := http.NewRequest(method, p.url+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return raw
}

func (p *provider) behave(how string) { p.request(http.MethodPost, "/control", how) }

// calls returns how often it was asked since the last time.
func (p *provider) calls() int {
	var calls []any
	if err := json.Unmarshal(p.request(http.MethodGet, "/calls", ""), &calls); err != nil {
		p.t.Fatal(err)
	}
	p.request(http.MethodDelete, "/calls", "")
	return len(calls)
}

// twice asks twice, and fails unless the provider was asked once and both answers are the same.
func twice[T any](t *testing.T, upstream *provider, ask func() (T, error)) T {
	t.Helper()
	first, err := ask()
	if err != nil {
		t.Fatal(err)
	}
	second, err := ask()
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(first, second) {
		t.Errorf("the answers differ:\n%+v\n%+v", first, second)
	}
	if calls := upstream.calls(); calls != 1 {
		t.Errorf("the provider was asked %d times", calls)
	}
	return first
}

func TestTheOpenAISDKGetsTheSameObjectsFromTheCache(t *testing.T) {
	gateway, ctx := os.Getenv("GATEWAY_URL"), context.Background()
	if gateway == "" {
		t.Skip("no gateway: run tests/gateways/test_openai_go.py")
	}
	upstream := &provider{t, os.Getenv("PROVIDER_URL")}
	client := openai.NewClient(
		option.WithBaseURL(gateway+"/v1"), option.WithAPIKey("sk-acme"), option.WithMaxRetries(0))
	chat := openai.ChatCompletionNewParams{
		Model: "smart", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Capital of France?")},
	}

	t.Run("chat", func(t *testing.T) {
		got := twice(t, upstream, func() (*openai.ChatCompletion, error) { return client.Chat.Completions.New(ctx, chat) })
		if !strings.HasSuffix(got.Choices[0].Message.Content, "Capital of France?") || got.Usage.TotalTokens != 13 {
			t.Errorf("%+v", got)
		}
	})
	t.Run("chat streamed", func(t *testing.T) {
		got := twice(t, upstream, func() (openai.ChatCompletion, error) {
			stream, whole := client.Chat.Completions.NewStreaming(ctx, chat), openai.ChatCompletionAccumulator{}
			for stream.Next() {
				whole.AddChunk(stream.Current())
			}
			return whole.ChatCompletion, stream.Err()
		})
		if !strings.HasSuffix(got.Choices[0].Message.Content, "Capital of France?") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("tools", func(t *testing.T) {
		upstream.behave(`{"tool_call": true}`)
		defer upstream.behave(`{}`)
		schema := shared.FunctionParameters{"type": "object", "properties": map[string]any{"city": map[string]any{}}}
		withTools := chat
		withTools.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(
			shared.FunctionDefinitionParam{Name: "weather", Parameters: schema})}
		got := twice(t, upstream, func() (*openai.ChatCompletion, error) {
			return client.Chat.Completions.New(ctx, withTools)
		})
		if calls := got.Choices[0].Message.ToolCalls; len(calls) != 1 || calls[0].Function.Arguments != `{"city": "Paris"}` {
			t.Errorf("%+v", calls)
		}
	})
	t.Run("structured output", func(t *testing.T) {
		shaped := chat
		shaped.ResponseFormat.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
		got := twice(t, upstream, func() (*openai.ChatCompletion, error) { return client.Chat.Completions.New(ctx, shaped) })
		if !json.Valid([]byte(got.Choices[0].Message.Content)) {
			t.Errorf("%+v", got)
		}
	})
	asked := responses.ResponseNewParams{Model: "smart", Store: param.NewOpt(false)}
	asked.Input.OfString = param.NewOpt("Capital of France?")
	t.Run("responses", func(t *testing.T) {
		got := twice(t, upstream, func() (*responses.Response, error) { return client.Responses.New(ctx, asked) })
		if !strings.HasSuffix(got.OutputText(), "Capital of France?") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("responses streamed", func(t *testing.T) {
		got := twice(t, upstream, func() ([]responses.ResponseStreamEventUnion, error) {
			stream, events := client.Responses.NewStreaming(ctx, asked), []responses.ResponseStreamEventUnion{}
			for stream.Next() {
				events = append(events, stream.Current())
			}
			return events, stream.Err()
		})
		if last := got[len(got)-1]; last.Type != "response.completed" {
			t.Errorf("%+v", last)
		}
	})
	t.Run("embeddings", func(t *testing.T) {
		got := twice(t, upstream, func() (*openai.CreateEmbeddingResponse, error) {
			return client.Embeddings.New(ctx, openai.EmbeddingNewParams{
				Model: "embed", Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{"a", "b"}},
			})
		})
		if len(got.Data) != 2 || len(got.Data[0].Embedding) != 4 {
			t.Errorf("%+v", got)
		}
	})
}
