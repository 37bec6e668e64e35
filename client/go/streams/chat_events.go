package streams

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// chatEvents writes a chat completion as chunks.
func chatEvents(out *writer, root object, options EventOptions) error {
	chunk := object{"object": quoted("chat.completion.chunk")}
	for name, value := range root {
		switch {
		case contains(chunkMembers, name):
			chunk[name] = value
		case !bare(value) && !chunkDropped[name]:
			return lossy("the document has %q", name)
		}
	}
	choices, ok := asObjects(root["choices"])
	if !ok || len(choices) == 0 {
		return fmt.Errorf("%w: there are no choices", ErrNotUnderstood)
	}
	if options.IncludeUsage {
		if null(root["usage"]) {
			return lossy("the document has no usage, which the stream must have")
		}
		chunk["usage"] = json.RawMessage("null")
	}
	for position, choice := range choices {
		index, ok := asIndex(choice["index"])
		if !ok {
			index = position
		}
		events := choiceEvents{out: out, chunk: chunk, index: index}
		if err := events.write(choice); err != nil {
			return err
		}
	}
	if options.IncludeUsage {
		out.event("", chunk.with(object{"choices": []byte("[]"), "usage": root["usage"]}).raw())
	}
	out.event("", []byte("[DONE]"))
	return nil
}

// choiceEvents writes one choice as chunks.
type choiceEvents struct {
	out   *writer
	chunk object
	index int
}

func (e *choiceEvents) send(delta object, logprobs, finish json.RawMessage) {
	choice := object{
		"index": []byte(strconv.Itoa(e.index)), "delta": delta.raw(), "logprobs": logprobs, "finish_reason": finish,
	}
	e.out.event("", e.chunk.with(object{"choices": encoded([]object{choice})}).raw())
}

func (e *choiceEvents) write(choice object) error {
	for name, value := range choice {
		switch name {
		case "index", "message", "logprobs", "finish_reason":
		default:
			if !bare(value) {
				return lossy("a choice has %q", name)
			}
		}
	}
	message, ok := asObject(choice["message"])
	if !ok {
		return fmt.Errorf("%w: a choice has no message", ErrNotUnderstood)
	}
	logprobs, ok := asObject(choice["logprobs"])
	if !ok && !null(choice["logprobs"]) {
		return lossy("logprobs are no object")
	}
	nothing := json.RawMessage("null")
	opening := object{"role": message["role"], "content": nothing, "refusal": nothing}
	if !null(message["content"]) {
		opening["content"] = quoted("")
	}
	e.send(opening, nothing, nothing)
	if err := e.writeMessage(message, logprobs); err != nil {
		return err
	}
	if null(choice["finish_reason"]) {
		return fmt.Errorf("%w: a choice has no finish reason", ErrIncomplete)
	}
	e.send(object{}, nothing, choice["finish_reason"])
	return nil
}

// writeMessage writes what the message says, reasoning first, since it was thought first.
func (e *choiceEvents) writeMessage(message, logprobs object) error {
	nothing := json.RawMessage("null")
	for name, value := range message {
		switch name {
		case "role", "tool_calls", "function_call", "annotations":
		default:
			if !contains(spokenMembers, name) && !bare(value) {
				return lossy("a message has %q", name)
			}
		}
	}
	for name, value := range logprobs {
		if name != "content" && name != "refusal" && !bare(value) {
			return lossy("logprobs have %q", name)
		}
	}
	for _, name := range []string{"reasoning_content", "reasoning", "content", "refusal"} {
		value, tokens := message[name], nothing
		if !null(logprobs[name]) {
			other := map[string]string{"content": "refusal", "refusal": "content"}[name]
			tokens = object{name: logprobs[name], other: nothing}.raw()
		}
		if bare(value) && null(tokens) {
			continue
		}
		if piece := (&text{}); !piece.add(value) {
			return lossy("%q is no text", name)
		}
		e.send(object{name: value}, tokens, nothing)
	}
	if !bare(message["annotations"]) {
		e.send(object{"annotations": message["annotations"]}, nothing, nothing)
	}
	if !bare(message["function_call"]) {
		e.send(object{"function_call": message["function_call"]}, nothing, nothing)
	}
	return e.writeCalls(message["tool_calls"])
}

func (e *choiceEvents) writeCalls(raw json.RawMessage) error {
	if bare(raw) {
		return nil
	}
	calls, ok := asObjects(raw)
	if !ok {
		return lossy("tool calls are no list of objects")
	}
	nothing := json.RawMessage("null")
	for position, call := range calls {
		if err := (&chatCall{}).add(call); err != nil {
			return err
		}
		indexed := call.with(object{"index": []byte(strconv.Itoa(position))})
		e.send(object{"tool_calls": encoded([]object{indexed})}, nothing, nothing)
	}
	return nil
}
