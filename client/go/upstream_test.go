package askonce_test

import (
	"reflect"
	"testing"

	askonce "github.com/askonce/askonce/client/go"
)

func TestAnswersAreReadOffTheirBodies(t *testing.T) {
	no := false
	for name, c := range map[string]struct {
		read func(int, []byte) askonce.UpstreamResponse
		body string
		want askonce.UpstreamResponse
	}{
		"chat": {askonce.FromOpenAIChat, `{"choices":[{"finish_reason":"stop","message":{"content":"a"}},
			{"finish_reason":"tool_calls","message":{"tool_calls":[{}]}}],"usage":{"prompt_tokens":3,"completion_tokens":4}}`,
			askonce.UpstreamResponse{
				FinishReasons: []string{"stop", "tool_calls"}, ContainsToolCalls: true, Usage: &askonce.Usage{3, 4},
			}},
		"chat without an end": {askonce.FromOpenAIChat, `{"choices":[{"message":{"refusal":"no"}}]}`,
			askonce.UpstreamResponse{FinishReasons: []string{"null"}, Refused: true}},
		"chat stream": {askonce.FromOpenAIChat, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n" +
			"data: {\"choices\":[{\"index\":0,\"finish_reason\":\"stop\",\"delta\":{}}]}\n\ndata: [DONE]\n\n",
			askonce.UpstreamResponse{
				ContentType: "text/event-stream", FinishReasons: []string{"stop"}, StreamComplete: true,
			}},
		"chat stream that was cut": {askonce.FromOpenAIChat, "data: {\"choices\":[{\"index\":0,\"delta\":{}}]}\n\n",
			askonce.UpstreamResponse{ContentType: "text/event-stream", FinishReasons: []string{"null"}}},
		"chat stream with an error": {askonce.FromOpenAIChat, "data: {\"error\":{\"code\":1}}\n\ndata: [DONE]\n\n",
			askonce.UpstreamResponse{ContentType: "text/event-stream", Cacheable: &no}},
		"responses": {askonce.FromOpenAIResponses, `{"status":"completed","output":[{"type":"function_call"},
			{"type":"message","content":[{"type":"refusal"}]}],"usage":{"input_tokens":1,"output_tokens":2}}`,
			askonce.UpstreamResponse{
				FinishReasons: []string{"completed"}, ContainsToolCalls: true, Refused: true, Usage: &askonce.Usage{1, 2},
			}},
		"responses that end early": {askonce.FromOpenAIResponses,
			`{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[]}`,
			askonce.UpstreamResponse{FinishReasons: []string{"max_output_tokens"}}},
		"responses stream": {askonce.FromOpenAIResponses,
			"event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"output\":[]}}\n\n",
			askonce.UpstreamResponse{
				ContentType: "text/event-stream", FinishReasons: []string{"completed"}, StreamComplete: true,
			}},
		"messages": {askonce.FromAnthropicMessages,
			`{"stop_reason":"tool_use","content":[{"type":"tool_use"}],"usage":{"input_tokens":1,"output_tokens":2}}`,
			askonce.UpstreamResponse{
				FinishReasons: []string{"tool_use"}, ContainsToolCalls: true, Usage: &askonce.Usage{1, 2},
			}},
		"messages stream": {askonce.FromAnthropicMessages,
			"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":5,\"output_tokens\":1}}}\n\n" +
				"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":9}}\n\n" +
				"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
			askonce.UpstreamResponse{
				ContentType: "text/event-stream", FinishReasons: []string{"end_turn"}, StreamComplete: true,
				Usage: &askonce.Usage{5, 9},
			}},
		"messages error": {askonce.FromAnthropicMessages, `{"type":"error","error":{"type":"overloaded_error"}}`,
			askonce.UpstreamResponse{FinishReasons: []string{"null"}, Cacheable: &no}},
		"embeddings": {askonce.FromOpenAIEmbeddings, `{"data":[],"usage":{"prompt_tokens":8}}`,
			askonce.UpstreamResponse{Usage: &askonce.Usage{InputTokens: 8}}},
		"no JSON": {askonce.FromOpenAIChat, `<html>`, askonce.UpstreamResponse{}},
	} {
		c.want.Body, c.want.StatusCode = []byte(c.body), 201
		if c.want.ContentType == "" {
			c.want.ContentType = "application/json"
		}
		if got := c.read(201, []byte(c.body)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, c.want)
		}
	}
}
