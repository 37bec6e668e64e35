package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	askonce "github.com/askonce/askonce/client/go"
	"github.com/askonce/askonce/client/go/internal/sidecar"
)

const fakeProvider = "../../../../tests/gateways/fake_provider.py"

// provider is tests/gateways/fake_provider.py in a process of its own.
type provider struct {
	t   *testing.T
	url string
}

func startProvider(t *testing.T) *provider {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3: it runs the fake provider")
	}
	if _, err := os.Stat(fakeProvider); err != nil {
		t.Skip("no fake provider: this is not the whole repository")
	}
	process := exec.Command(python, fakeProvider)
	input, err := process.StdinPipe() // it ends with its input
	if err != nil {
		t.Fatal(err)
	}
	output, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = input.Close(), process.Wait() })
	url, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return &provider{t, strings.TrimSpace(url)}
}

func (p *provider) behave(how string) {
	p.t.Helper()
	answer, err := http.Post(p.url+"/control", "application/json", strings.NewReader(how))
	if err != nil {
		p.t.Fatal(err)
	}
	_ = answer.Body.Close()
}

// calls returns how often it was asked since the last time.
func (p *provider) calls() int {
	p.t.Helper()
	answer, err := http.Get(p.url + "/calls")
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	raw, _ := io.ReadAll(answer.Body)
	var calls []any
	if err := json.Unmarshal(raw, &calls); err != nil {
		p.t.Fatal(err)
	}
	forget, _ := http.NewRequest(http.MethodDelete, p.url+"/calls", nil)
	if answer, err := http.DefaultClient.Do(forget); err != nil {
		p.t.Fatal(err)
	} else {
		_ = answer.Body.Close()
	}
	return len(calls)
}

var rules = []any{map[string]any{
	"id": "everything", "scope": []string{"tenant"}, "eligibility": map[string]any{"sampling": "all"},
}}

// startGateway returns an OpenAI client of a gateway in front of a real sidecar and a fake provider.
func startGateway(t *testing.T) (*openai.Client, *provider) {
	t.Helper()
	server, upstream := sidecar.Start(t, rules), startProvider(t)
	cache, err := askonce.New(server.Target, askonce.WithBudget(10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	config := &Config{
		Keys:      map[string]string{"sk-acme": "acme"},
		Providers: map[string]Provider{"openai": {Dialect: "openai", URL: upstream.url}},
		Routes: map[string][]Route{
			"smart": {{Provider: "openai", Model: "gpt-4o"}}, "embed": {{Provider: "openai", Model: "text-embedding-3"}},
		},
	}
	gateway := httptest.NewServer(newGateway(config, cache))
	t.Cleanup(func() {
		gateway.Close()
		_ = cache.Close()
	})
	client := openai.NewClient(
		option.WithBaseURL(gateway.URL+"/v1"), option.WithAPIKey("sk-acme"), option.WithMaxRetries(0))
	return &client, upstream
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
	client, upstream := startGateway(t)
	ctx := context.Background()
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

func TestTheConfigurationBesideTheGatewayIsOne(t *testing.T) {
	config, err := readConfig("gateway.json")
	if err != nil {
		t.Fatal(err)
	}
	if config.Keys["sk-acme"] != "acme" || config.Routes["smart"][1].Provider != "backup" {
		t.Errorf("%+v", config)
	}
}
