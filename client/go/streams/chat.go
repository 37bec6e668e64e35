package streams

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// What a chunk, a choice and a delta may have besides what is put together by hand. Whatever else they have and is
// not bare would be lost, so it refuses.
var (
	chunkMembers  = []string{"id", "created", "model", "service_tier", "system_fingerprint"}
	chunkDropped  = map[string]bool{"object": true, "choices": true, "usage": true, "obfuscation": true}
	spokenMembers = []string{"content", "refusal", "reasoning_content", "reasoning"}
)

// chatDocument puts the chunks of a chat together.
func chatDocument(events []event) (object, error) {
	answer := chatAnswer{root: object{"object": quoted("chat.completion")}, choices: map[int]*chatChoice{}}
	finished := false
	for _, event := range events {
		if event.done() {
			finished = true
			break
		}
		if event.name == "error" || !bare(event.data["error"]) {
			return nil, fmt.Errorf("%w: it carries an error", ErrIncomplete)
		}
		if err := answer.add(event.data); err != nil {
			return nil, err
		}
	}
	if !finished {
		return nil, fmt.Errorf("%w: [DONE] is missing", ErrIncomplete)
	}
	return answer.document()
}

type chatAnswer struct {
	root    object
	choices map[int]*chatChoice
}

func (a *chatAnswer) add(chunk object) error {
	for name, value := range chunk {
		if bare(value) || chunkDropped[name] {
			continue
		}
		if !contains(chunkMembers, name) {
			return lossy("a chunk has %q", name)
		}
		if told, ok := a.root[name]; ok && (name == "id" || name == "model") && !bytes.Equal(told, value) {
			return lossy("chunks differ in %q", name)
		}
		a.root[name] = value
	}
	if !null(chunk["usage"]) {
		a.root["usage"] = chunk["usage"]
	}
	choices, ok := asObjects(chunk["choices"])
	if !ok {
		return fmt.Errorf("%w: a chunk has no choices", ErrNotUnderstood)
	}
	for _, choice := range choices {
		index, ok := asIndex(choice["index"])
		if !ok {
			return fmt.Errorf("%w: a choice has no index", ErrNotUnderstood)
		}
		if a.choices[index] == nil {
			a.choices[index] = &chatChoice{spoken: map[string]*text{}, calls: map[int]*chatCall{}}
		}
		if err := a.choices[index].add(choice); err != nil {
			return err
		}
	}
	return nil
}

func (a *chatAnswer) document() (object, error) {
	if len(a.choices) == 0 {
		return nil, fmt.Errorf("%w: there are no choices", ErrNotUnderstood)
	}
	if a.root["usage"] == nil {
		return nil, lossy("the stream has no usage, which a document always has")
	}
	documents := make([]object, 0, len(a.choices))
	for _, index := range sortedKeys(a.choices) {
		choice, err := a.choices[index].document(index)
		if err != nil {
			return nil, err
		}
		documents = append(documents, choice)
	}
	a.root["choices"] = encoded(documents)
	return a.root, nil
}

// chatChoice is one choice, put together from its deltas.
type chatChoice struct {
	role        json.RawMessage
	spoken      map[string]*text
	calls       map[int]*chatCall
	function    *chatCall
	annotations []json.RawMessage
	logprobs    map[string][]json.RawMessage
	finish      json.RawMessage
}

func (c *chatChoice) add(choice object) error {
	for name, value := range choice {
		var err error
		switch name {
		case "index", "delta":
		case "finish_reason":
			if !null(value) {
				c.finish = value
			}
		case "logprobs":
			err = c.addLogprobs(value)
		default:
			if !bare(value) {
				err = lossy("a choice has %q", name)
			}
		}
		if err != nil {
			return err
		}
	}
	delta, _ := asObject(choice["delta"])
	for name, value := range delta {
		if err := c.addDelta(name, value); err != nil {
			return err
		}
	}
	return nil
}

func (c *chatChoice) addDelta(name string, value json.RawMessage) error {
	switch {
	case contains(spokenMembers, name):
		if c.spoken[name] == nil {
			c.spoken[name] = &text{}
		}
		if !c.spoken[name].add(value) {
			return lossy("%q is no text", name)
		}
	case bare(value):
	case name == "role":
		c.role = value
	case name == "tool_calls":
		return c.addCalls(value)
	case name == "function_call":
		if c.function == nil {
			c.function = &chatCall{}
		}
		return c.function.addFunction(value)
	case name == "annotations":
		items, ok := asList(value)
		if !ok {
			return lossy("annotations are no list")
		}
		c.annotations = append(c.annotations, items...)
	default:
		return lossy("a delta has %q", name)
	}
	return nil
}

func (c *chatChoice) addLogprobs(raw []byte) error {
	if null(raw) {
		return nil
	}
	kinds, ok := asObject(raw)
	if !ok {
		return lossy("logprobs are no object")
	}
	if c.logprobs == nil {
		c.logprobs = map[string][]json.RawMessage{}
	}
	for name, value := range kinds {
		tokens, isList := asList(value)
		if name != "content" && name != "refusal" || !isList && !null(value) {
			return lossy("logprobs have %q", name)
		}
		c.logprobs[name] = append(c.logprobs[name], tokens...)
	}
	return nil
}

func (c *chatChoice) addCalls(raw []byte) error {
	calls, ok := asObjects(raw)
	if !ok {
		return lossy("tool calls are no list of objects")
	}
	for _, call := range calls {
		index, ok := asIndex(call["index"])
		if !ok {
			return lossy("a tool call has no index")
		}
		if c.calls[index] == nil {
			c.calls[index] = &chatCall{}
		}
		if err := c.calls[index].add(call); err != nil {
			return err
		}
	}
	return nil
}

func (c *chatChoice) document(index int) (object, error) {
	if c.finish == nil {
		return nil, fmt.Errorf("%w: a choice has no finish reason", ErrIncomplete)
	}
	message := object{"role": quoted("assistant"), "content": (&text{}).raw(), "refusal": (&text{}).raw()}
	if c.role != nil {
		message["role"] = c.role
	}
	for name, spoken := range c.spoken {
		if spoken.said || name == "content" || name == "refusal" {
			message[name] = spoken.raw()
		}
	}
	if len(c.annotations) > 0 {
		message["annotations"] = encoded(c.annotations)
	}
	if len(c.calls) > 0 {
		calls := make([]object, 0, len(c.calls))
		for _, position := range sortedKeys(c.calls) {
			calls = append(calls, c.calls[position].document())
		}
		message["tool_calls"] = encoded(calls)
		// A message that only calls tools has no content; some streams begin it with an empty one.
		if content := c.spoken["content"]; content != nil && len(content.pieces) == 0 {
			message["content"] = (&text{}).raw()
		}
	}
	if c.function != nil {
		message["function_call"] = c.function.spoken()
	}
	return object{
		"index":         []byte(strconv.Itoa(index)),
		"message":       message.raw(),
		"logprobs":      c.logprobsDocument(),
		"finish_reason": c.finish,
	}, nil
}

func (c *chatChoice) logprobsDocument() json.RawMessage {
	if c.logprobs == nil {
		return json.RawMessage("null")
	}
	kinds := object{"content": json.RawMessage("null"), "refusal": json.RawMessage("null")}
	for name, tokens := range c.logprobs {
		if tokens != nil {
			kinds[name] = encoded(tokens)
		}
	}
	return kinds.raw()
}
