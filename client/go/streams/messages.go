package streams

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// deltas names, per type of delta, the member of the delta and that of the block which it adds to.
var deltas = map[string]struct{ from, to string }{
	"text_delta":      {"text", "text"},
	"thinking_delta":  {"thinking", "thinking"},
	"signature_delta": {"signature", "signature"},
}

// messagesDocument puts the events of an Anthropic message together.
func messagesDocument(events []event) (object, error) {
	answer := messageAnswer{blocks: map[int]*messageBlock{}}
	for _, event := range events {
		kind := event.kind()
		if kind == "error" {
			return nil, fmt.Errorf("%w: it carries an error", ErrIncomplete)
		}
		if kind == "message_stop" {
			return answer.document()
		}
		if err := answer.add(kind, event.data); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%w: message_stop is missing", ErrIncomplete)
}

type messageAnswer struct {
	message object
	blocks  map[int]*messageBlock
}

func (a *messageAnswer) add(kind string, data object) error {
	switch kind {
	case "ping":
		return nil
	case "message_start":
		message, ok := asObject(data["message"])
		if !ok {
			return fmt.Errorf("%w: message_start has no message", ErrNotUnderstood)
		}
		a.message = message
		return nil
	case "message_delta":
		return a.addDelta(data)
	case "content_block_start", "content_block_delta", "content_block_stop":
	default:
		return lossy("there is an event %q", kind)
	}
	index, ok := asIndex(data["index"])
	block := a.blocks[index]
	switch {
	case !ok || (block == nil) != (kind == "content_block_start"):
		return fmt.Errorf("%w: %s is out of order", ErrNotUnderstood, kind)
	case kind == "content_block_start":
		started, ok := asObject(data["content_block"])
		if !ok {
			return fmt.Errorf("%w: a block is no object", ErrNotUnderstood)
		}
		a.blocks[index] = newMessageBlock(started)
	case kind == "content_block_delta":
		delta, _ := asObject(data["delta"])
		return block.add(delta)
	default:
		block.stopped = true
	}
	return nil
}

func (a *messageAnswer) addDelta(data object) error {
	if a.message == nil {
		return fmt.Errorf("%w: message_delta is out of order", ErrNotUnderstood)
	}
	for name, value := range data {
		switch name {
		case "type":
		case "delta":
			a.message = merged(a.message, value)
		case "usage":
			earlier, _ := asObject(a.message["usage"])
			a.message["usage"] = merged(earlier, value).raw()
		case "context_management":
			a.message[name] = value
		default:
			if !bare(value) {
				return lossy("message_delta has %q", name)
			}
		}
	}
	return nil
}

func (a *messageAnswer) document() (object, error) {
	if a.message == nil {
		return nil, fmt.Errorf("%w: message_start is missing", ErrNotUnderstood)
	}
	if null(a.message["stop_reason"]) {
		return nil, fmt.Errorf("%w: there is no stop reason", ErrIncomplete)
	}
	content := make([]object, 0, len(a.blocks))
	for _, index := range sortedKeys(a.blocks) {
		block, err := a.blocks[index].document()
		if err != nil {
			return nil, err
		}
		content = append(content, block)
	}
	a.message["content"] = encoded(content)
	return a.message, nil
}

// messageBlock is one content block, put together from its deltas.
type messageBlock struct {
	start     object
	spoken    map[string]*text
	citations []json.RawMessage
	input     text
	stopped   bool
}

func newMessageBlock(start object) *messageBlock {
	return &messageBlock{start: start, spoken: map[string]*text{}}
}

func (b *messageBlock) add(delta object) error {
	kind := asText(delta["type"])
	if members, ok := deltas[kind]; ok {
		spoken := b.spoken[members.to]
		if spoken == nil {
			spoken = &text{}
			spoken.add(b.start[members.to])
			b.spoken[members.to] = spoken
		}
		if null(delta[members.from]) || !spoken.add(delta[members.from]) {
			return lossy("a %s has no text", kind)
		}
		return nil
	}
	switch kind {
	case "input_json_delta":
		if !b.input.add(delta["partial_json"]) {
			return lossy("partial_json is no text")
		}
	case "citations_delta":
		b.citations = append(b.citations, delta["citation"])
	default:
		return lossy("there is a delta %q", kind)
	}
	return nil
}

func (b *messageBlock) document() (object, error) {
	if !b.stopped {
		return nil, fmt.Errorf("%w: a block did not come to its end", ErrIncomplete)
	}
	block := b.start.with(nil)
	for name, spoken := range b.spoken {
		block[name] = spoken.raw()
	}
	if len(b.citations) > 0 {
		earlier, _ := asList(block["citations"])
		block["citations"] = encoded(append(earlier, b.citations...))
	}
	if input := asText(b.input.raw()); input != "" {
		if _, ok := asObject([]byte(input)); !ok {
			return nil, lossy("the input of a tool call is no JSON object")
		}
		block["input"] = json.RawMessage(input)
	}
	return block, nil
}

// messagesEvents writes an Anthropic message as events.
func messagesEvents(out *writer, root object) error {
	blocks, ok := asObjects(root["content"])
	if !ok {
		return fmt.Errorf("%w: there is no content", ErrNotUnderstood)
	}
	if null(root["stop_reason"]) {
		return fmt.Errorf("%w: there is no stop reason", ErrIncomplete)
	}
	nothing := json.RawMessage("null")
	start := root.with(object{"content": []byte("[]"), "stop_reason": nothing, "stop_sequence": nothing})
	delta := object{"stop_reason": root["stop_reason"], "stop_sequence": nothing}
	for _, name := range []string{"stop_sequence", "container", "stop_details"} {
		if said := root[name]; said != nil {
			delta[name] = said
			start[name] = nothing
		}
	}
	ending := object{"delta": delta.raw()}
	if usage, ok := asObject(root["usage"]); ok {
		ending["usage"] = usage.raw()
		start["usage"] = usage.with(object{"output_tokens": []byte("0")}).raw()
	}
	if said := root["context_management"]; said != nil {
		ending["context_management"] = said
		delete(start, "context_management")
	}
	sendTyped(out, "message_start", object{"message": start.raw()})
	for index, block := range blocks {
		blockEvents(out, index, block)
	}
	sendTyped(out, "message_delta", ending)
	sendTyped(out, "message_stop", object{})
	return nil
}

// blockEvents writes a content block: what is streamed in deltas, and everything else whole at its start.
func blockEvents(out *writer, index int, block object) {
	at := json.RawMessage(strconv.Itoa(index))
	start, pieces := block.with(nil), []object{}
	for _, kind := range []string{"thinking_delta", "text_delta", "signature_delta"} {
		members := deltas[kind]
		if value := block[members.to]; asText(value) != "" {
			start[members.to] = quoted("")
			pieces = append(pieces, object{"type": quoted(kind), members.from: value})
		}
	}
	if citations, ok := asList(block["citations"]); ok && len(citations) > 0 {
		start["citations"] = []byte("[]")
		for _, citation := range citations {
			pieces = append(pieces, object{"type": quoted("citations_delta"), "citation": citation})
		}
	}
	if strings.HasSuffix(asText(block["type"]), "tool_use") && !bare(block["input"]) {
		start["input"] = []byte("{}")
		var compact bytes.Buffer
		_ = json.Compact(&compact, block["input"]) // it is a member of a document that was read
		input := quoted(compact.String())
		pieces = append(pieces, object{"type": quoted("input_json_delta"), "partial_json": input})
	}
	sendTyped(out, "content_block_start", object{"index": at, "content_block": start.raw()})
	for _, piece := range pieces {
		sendTyped(out, "content_block_delta", object{"index": at, "delta": piece.raw()})
	}
	sendTyped(out, "content_block_stop", object{"index": at})
}

func sendTyped(out *writer, kind string, data object) {
	out.event(kind, data.with(object{"type": quoted(kind)}).raw())
}
