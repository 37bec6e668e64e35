package streams

import "strings"

// Usage counts tokens as the provider reported them.
type Usage struct{ Input, Output uint64 }

// Answer is what a body says of itself. Whatever cannot be read stays unsaid.
type Answer struct {
	// Stream says that the body is a recorded stream.
	Stream bool
	// Complete says that a stream came to its terminal event without an error.
	Complete bool
	// Failed says that the body carries an error in spite of its status.
	Failed bool
	// FinishReasons has one a choice, in the dialect's words; "null" stands for a choice that has none.
	FinishReasons []string
	// Usage is nil when the body does not say it.
	Usage     *Usage
	ToolCalls bool
	// Refused says that the model refused.
	Refused bool
}

// Inspect reads the answer of an endpoint, a document or a recorded stream.
func Inspect(api API, body []byte) Answer {
	stream := IsStream(body)
	seen := Answer{Stream: stream}
	if !stream {
		root, _ := asObject(body)
		seen.Failed = !bare(root["error"])
		seen.document(api, root)
		return seen
	}
	events, err := parse(body)
	if err != nil {
		return seen
	}
	switch api {
	case OpenAIChat:
		seen.chatStream(events)
	case OpenAIResponses:
		seen.responsesStream(events)
	case AnthropicMessages:
		seen.messagesStream(events)
	}
	seen.Complete = seen.Complete && !seen.Failed
	return seen
}

func (a *Answer) document(api API, root object) {
	switch api {
	case OpenAIChat:
		choices, _ := asObjects(root["choices"])
		for _, choice := range choices {
			a.FinishReasons = append(a.FinishReasons, reason(choice["finish_reason"]))
			message, _ := asObject(choice["message"])
			a.chatMessage(message)
		}
		a.usage(root["usage"], "prompt_tokens", "completion_tokens")
	case OpenAIResponses:
		a.response(root)
	case AnthropicMessages:
		a.FinishReasons = []string{reason(root["stop_reason"])}
		blocks, _ := asObjects(root["content"])
		for _, block := range blocks {
			a.ToolCalls = a.ToolCalls || strings.HasSuffix(asText(block["type"]), "tool_use")
		}
		a.Refused = asText(root["stop_reason"]) == "refusal"
		a.usage(root["usage"], "input_tokens", "output_tokens")
	}
}

func (a *Answer) chatMessage(message object) {
	a.ToolCalls = a.ToolCalls || !bare(message["tool_calls"]) || !bare(message["function_call"])
	a.Refused = a.Refused || !bare(message["refusal"])
}

func (a *Answer) chatStream(events []event) {
	reasons := map[int]string{}
	for _, event := range events {
		if event.done() {
			a.Complete = true
			break
		}
		a.Failed = a.Failed || event.name == "error" || !bare(event.data["error"])
		choices, _ := asObjects(event.data["choices"])
		for position, choice := range choices {
			index, ok := asIndex(choice["index"])
			if !ok {
				index = position
			}
			if said := reason(choice["finish_reason"]); reasons[index] == "" || said != "null" {
				reasons[index] = said
			}
			delta, _ := asObject(choice["delta"])
			a.chatMessage(delta)
		}
		a.usage(event.data["usage"], "prompt_tokens", "completion_tokens")
	}
	for index := range len(reasons) {
		said, ok := reasons[index]
		if !ok {
			said = "null"
		}
		a.FinishReasons = append(a.FinishReasons, said)
	}
}

func (a *Answer) response(root object) {
	status := asText(root["status"])
	details, _ := asObject(root["incomplete_details"])
	if why := asText(details["reason"]); why != "" {
		status = why
	}
	if status != "" {
		a.FinishReasons = []string{status}
	}
	a.Failed = a.Failed || status == "failed"
	items, _ := asObjects(root["output"])
	for _, item := range items {
		a.ToolCalls = a.ToolCalls || strings.HasSuffix(asText(item["type"]), "_call")
		parts, _ := asObjects(item["content"])
		for _, part := range parts {
			a.Refused = a.Refused || asText(part["type"]) == "refusal"
		}
	}
	a.usage(root["usage"], "input_tokens", "output_tokens")
}

func (a *Answer) responsesStream(events []event) {
	for _, event := range events {
		switch kind := event.kind(); kind {
		case "error":
			a.Failed = true
		case "response.completed", "response.incomplete", "response.failed":
			root, _ := asObject(event.data["response"])
			if bare(root["status"]) {
				root = root.with(object{"status": quoted(strings.TrimPrefix(kind, "response."))})
			}
			a.Failed = a.Failed || !bare(root["error"])
			a.response(root)
			a.Complete = true
			return
		}
	}
}

func (a *Answer) messagesStream(events []event) {
	usage, stop := object{}, "null"
	for _, event := range events {
		switch event.kind() {
		case "error":
			a.Failed = true
		case "message_start":
			message, _ := asObject(event.data["message"])
			usage = merged(usage, message["usage"])
		case "content_block_start":
			block, _ := asObject(event.data["content_block"])
			a.ToolCalls = a.ToolCalls || strings.HasSuffix(asText(block["type"]), "tool_use")
		case "message_delta":
			delta, _ := asObject(event.data["delta"])
			if said := reason(delta["stop_reason"]); said != "null" {
				stop = said
			}
			usage = merged(usage, event.data["usage"])
		case "message_stop":
			a.Complete = true
		}
	}
	a.FinishReasons, a.Refused = []string{stop}, stop == "refusal"
	a.usage(usage.raw(), "input_tokens", "output_tokens")
}

// merged returns the members of both; those that are null in the later one stay as they were.
func merged(earlier object, later []byte) object {
	members, _ := asObject(later)
	changes := object{}
	for name, value := range members {
		if !null(value) || earlier[name] == nil {
			changes[name] = value
		}
	}
	return earlier.with(changes)
}

func (a *Answer) usage(raw []byte, input, output string) {
	members, ok := asObject(raw)
	if !ok {
		return
	}
	in, knowsIn := asIndex(members[input])
	out, knowsOut := asIndex(members[output])
	if knowsIn && knowsOut {
		a.Usage = &Usage{Input: uint64(in), Output: uint64(out)}
	}
}

func reason(raw []byte) string {
	if said := asText(raw); said != "" {
		return said
	}
	return "null"
}
