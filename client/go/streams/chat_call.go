package streams

import (
	"bytes"
	"encoding/json"
	"sort"
)

// chatCall is one tool call, put together from its deltas.
type chatCall struct {
	id, kind  json.RawMessage
	member    string // function or custom
	name      json.RawMessage
	arguments text
}

func (c *chatCall) add(call object) error {
	for name, value := range call {
		if bare(value) {
			continue
		}
		var err error
		switch name {
		case "index":
		case "id":
			err = once(&c.id, value, "a tool call's id")
		case "type":
			err = once(&c.kind, value, "a tool call's type")
		case "function", "custom":
			c.member = name
			err = c.addFunction(value)
		default:
			err = lossy("a tool call has %q", name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *chatCall) addFunction(raw []byte) error {
	function, ok := asObject(raw)
	if !ok {
		return lossy("a function is no object")
	}
	for name, value := range function {
		switch {
		case name == "arguments" || name == "input":
			if !c.arguments.add(value) {
				return lossy("a tool call's %s are no text", name)
			}
		case bare(value):
		case name == "name":
			if err := once(&c.name, value, "a tool call's name"); err != nil {
				return err
			}
		default:
			return lossy("a function has %q", name)
		}
	}
	return nil
}

func (c *chatCall) spoken() json.RawMessage {
	arguments := "arguments"
	if c.member == "custom" {
		arguments = "input"
	}
	c.arguments.said = true
	return object{"name": c.name, arguments: c.arguments.raw()}.raw()
}

func (c *chatCall) document() object {
	member, kind := c.member, c.kind
	if member == "" {
		member = "function"
	}
	if kind == nil {
		kind = quoted(member)
	}
	return object{"id": c.id, "type": kind, member: c.spoken()}
}

// once keeps what was said first; later it may only be repeated.
func once(kept *json.RawMessage, value json.RawMessage, what string) error {
	if *kept != nil && !bytes.Equal(*kept, value) {
		return lossy("%s changes", what)
	}
	*kept = value
	return nil
}

func contains(names []string, name string) bool {
	for _, known := range names {
		if known == name {
			return true
		}
	}
	return false
}

func sortedKeys[V any](values map[int]V) []int {
	keys := make([]int, 0, len(values))
	for key := range values {
		keys = append(keys, key)
	}
	sort.Ints(keys)
	return keys
}
