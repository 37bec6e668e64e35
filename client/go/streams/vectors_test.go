package streams_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/askonce/askonce/client/go/streams"
)

// vector is one case of tests/conformance/streams.json; the README beside it says what each part means.
type vector struct {
	Name  string
	Given struct {
		API          streams.API
		Stream       *string
		Document     json.RawMessage
		IncludeUsage bool `json:"include_usage"`
	}
	Want struct {
		Document json.RawMessage
		Events   []struct {
			Event string
			Data  json.RawMessage
		}
		Refused string
		Says    *says
	}
}

type says struct {
	Complete      bool
	Failed        bool
	FinishReasons []string `json:"finish_reasons"`
	ToolCalls     bool     `json:"tool_calls"`
	Refused       bool
	Usage         *struct {
		Input  uint64 `json:"input_tokens"`
		Output uint64 `json:"output_tokens"`
	}
}

var refusals = map[string]error{
	"lossy": streams.ErrLossy, "incomplete": streams.ErrIncomplete, "not_understood": streams.ErrNotUnderstood,
}

func vectors(t *testing.T) []vector {
	t.Helper()
	raw, err := os.ReadFile("../../../tests/conformance/streams.json")
	if err != nil {
		t.Skip("no vectors: this is not the whole repository")
	}
	var file struct{ Cases []vector }
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	return file.Cases
}

// tree returns what a JSON text says, however it is spelt; so it is with the JSON inside a delta of one.
func tree(t *testing.T, raw []byte) any {
	t.Helper()
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		t.Fatalf("%s: %s", err, raw)
	}
	if event, ok := value.(map[string]any); ok {
		if delta, ok := event["delta"].(map[string]any); ok {
			if text, ok := delta["partial_json"].(string); ok {
				delta["partial_json"] = tree(t, []byte(text))
			}
		}
	}
	return value
}

func assertSame(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if !reflect.DeepEqual(tree(t, got), tree(t, want)) {
		t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

func TestStreamsAndDocumentsBecomeOneAnother(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			if v.Given.Stream != nil {
				gather(t, v)
			} else {
				spread(t, v)
			}
		})
	}
}

func gather(t *testing.T, v vector) {
	document, err := streams.ToDocument(v.Given.API, []byte(*v.Given.Stream))
	if !errors.Is(err, refusals[v.Want.Refused]) {
		t.Fatalf("%v, not %q", err, v.Want.Refused)
	}
	if err == nil {
		assertSame(t, "document", document, v.Want.Document)
	}
	if v.Want.Says != nil {
		assertSays(t, streams.Inspect(v.Given.API, []byte(*v.Given.Stream)), v.Want.Says)
	}
	if joined := joined(streams.Frames([]byte(*v.Given.Stream))); joined != *v.Given.Stream {
		t.Error("the frames are not the stream")
	}
}

func spread(t *testing.T, v vector) {
	options := streams.EventOptions{IncludeUsage: v.Given.IncludeUsage}
	stream, err := streams.ToEvents(v.Given.API, v.Given.Document, options)
	if !errors.Is(err, refusals[v.Want.Refused]) {
		t.Fatalf("%v, not %q", err, v.Want.Refused)
	}
	if err != nil {
		return
	}
	frames := streams.Frames(stream)
	if len(frames) != len(v.Want.Events) {
		t.Fatalf("%d events, not %d:\n%s", len(frames), len(v.Want.Events), stream)
	}
	for index, want := range v.Want.Events {
		head, data, _ := strings.Cut(strings.TrimSuffix(string(frames[index]), "\n\n"), "data: ")
		if wantHead := fmt.Sprintf("event: %s\n", want.Event); head != wantHead && (want.Event != "" || head != "") {
			t.Errorf("event %d begins with %q", index, head)
		}
		if data == "[DONE]" {
			data = `"[DONE]"`
		}
		assertSame(t, fmt.Sprint("event ", index), []byte(data), want.Data)
	}
	if !streams.Inspect(v.Given.API, stream).Complete {
		t.Error("the stream is not complete")
	}
	again, err := streams.ToDocument(v.Given.API, stream)
	if v.Given.API == streams.OpenAIChat && !v.Given.IncludeUsage {
		if !errors.Is(err, streams.ErrLossy) {
			t.Errorf("the usage is gone, and nobody says so: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	assertSame(t, "the document again", again, v.Given.Document)
}

func assertSays(t *testing.T, got streams.Answer, want *says) {
	t.Helper()
	var reasons []string
	reasons = append(reasons, want.FinishReasons...)
	expected := streams.Answer{
		Stream: true, Complete: want.Complete, Failed: want.Failed, FinishReasons: reasons, ToolCalls: want.ToolCalls,
		Refused: want.Refused,
	}
	if want.Usage != nil {
		expected.Usage = &streams.Usage{Input: want.Usage.Input, Output: want.Usage.Output}
	}
	if !reflect.DeepEqual(got, expected) {
		t.Errorf("it says of itself:\n got %+v\nwant %+v", got, expected)
	}
}

func joined(frames [][]byte) string {
	var all strings.Builder
	for _, frame := range frames {
		all.Write(frame)
	}
	return all.String()
}

func TestNumbersAndEscapesKeepTheirSpelling(t *testing.T) {
	stream := `data: {"id":"1","choices":[{"index":0,"delta":{"content":"\u00e9<"},"logprobs":{"content":[1e0,-0.0,1E400]}}]}

data: {"id":"1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"n":12345678901234567890}}

data: [DONE]

`
	document, err := streams.ToDocument(streams.OpenAIChat, []byte(stream))
	if err != nil {
		t.Fatal(err)
	}
	for _, spelling := range []string{`"\u00e9<"`, `[1e0,-0.0,1E400]`, `12345678901234567890`} {
		if !strings.Contains(string(document), spelling) {
			t.Errorf("%s is gone: %s", spelling, document)
		}
	}
}

func TestAnAPIWithoutStreamsHasNone(t *testing.T) {
	if _, err := streams.ToDocument("openai-embeddings", nil); !errors.Is(err, streams.ErrNotUnderstood) {
		t.Error(err)
	}
	if _, err := streams.ToEvents("openai-embeddings", []byte("{}"), streams.EventOptions{}); err == nil {
		t.Error("no error")
	}
}

// FuzzBodies: whatever a provider sends, nothing panics, and what becomes a document can be read.
func FuzzBodies(f *testing.F) {
	for _, seed := range []string{"data: {\"choices\":[{\"index\":0}]}\n\ndata: [DONE]\n\n", "event: x\r\rdata:\n", "{}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		for _, api := range []streams.API{streams.OpenAIChat, streams.OpenAIResponses, streams.AnthropicMessages} {
			streams.Inspect(api, []byte(body))
			if document, err := streams.ToDocument(api, []byte(body)); err == nil && !json.Valid(document) {
				t.Errorf("%s gives %q", api, document)
			}
			_, _ = streams.ToEvents(api, []byte(body), streams.EventOptions{IncludeUsage: true})
		}
		if joined(streams.Frames([]byte(body))) != body {
			t.Error("the frames are not the stream")
		}
	})
}
