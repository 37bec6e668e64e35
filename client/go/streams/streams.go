// Package streams knows recorded answers of providers: as one JSON document, or as the server-sent events of a
// stream. It says whether an answer is whole, turns a stream into the document that the provider would have sent
// instead, and a document into a stream, but only where nothing is lost. It works on bytes: numbers and strings keep
// their spelling.
package streams

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// API names a provider's endpoint whose answers may be streams.
type API string

// The endpoints.
const (
	OpenAIChat        API = "openai-chat"
	OpenAIResponses   API = "openai-responses"
	AnthropicMessages API = "anthropic-messages"
)

var (
	// ErrLossy says that an answer has something that would be lost in the other shape.
	ErrLossy = errors.New("streams: the answer cannot be given in the other shape without loss")
	// ErrIncomplete says that a stream did not come to its end, or that it carries an error.
	ErrIncomplete = errors.New("streams: the stream is not complete")
	// ErrNotUnderstood says that a body does not have the shape of its endpoint.
	ErrNotUnderstood = errors.New("streams: the body is not an answer of its endpoint")
)

// ToDocument turns a recorded stream into the document that the provider would have sent instead of it. It fails
// with ErrIncomplete, ErrLossy or ErrNotUnderstood.
func ToDocument(api API, stream []byte) ([]byte, error) {
	events, err := parse(stream)
	if err != nil {
		return nil, err
	}
	var document object
	switch api {
	case OpenAIChat:
		document, err = chatDocument(events)
	case OpenAIResponses:
		return responsesDocument(events)
	case AnthropicMessages:
		document, err = messagesDocument(events)
	default:
		err = fmt.Errorf("%w: %s has no streams", ErrNotUnderstood, api)
	}
	if err != nil {
		return nil, err
	}
	return document.raw(), nil
}

// EventOptions says what a caller asked of its stream.
type EventOptions struct {
	// IncludeUsage is OpenAI's stream_options.include_usage: whether the last chunk of a chat has the usage.
	IncludeUsage bool
}

// ToEvents turns a document into a stream that says the same. It fails with ErrLossy or ErrNotUnderstood.
func ToEvents(api API, document []byte, options EventOptions) ([]byte, error) {
	root, ok := asObject(document)
	if !ok {
		return nil, fmt.Errorf("%w: the document is no object", ErrNotUnderstood)
	}
	var out writer
	var err error
	switch api {
	case OpenAIChat:
		err = chatEvents(&out, root, options)
	case OpenAIResponses:
		err = responsesEvents(&out, root)
	case AnthropicMessages:
		err = messagesEvents(&out, root)
	default:
		err = fmt.Errorf("%w: %s has no streams", ErrNotUnderstood, api)
	}
	if err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// writer writes server-sent events.
type writer struct{ bytes.Buffer }

func (w *writer) event(name string, data []byte) {
	if name != "" {
		fmt.Fprintf(w, "event: %s\n", name)
	}
	fmt.Fprintf(w, "data: %s\n\n", data)
}

func lossy(format string, arguments ...any) error {
	return fmt.Errorf("%w: %s", ErrLossy, fmt.Sprintf(format, arguments...))
}

// object is a JSON object whose members keep their spelling.
type object map[string]json.RawMessage

func asObject(raw []byte) (object, bool) {
	var members object
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return nil, false
	}
	return members, true
}

func asList(raw []byte) ([]json.RawMessage, bool) {
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil || items == nil {
		return nil, false
	}
	return items, true
}

func asObjects(raw []byte) ([]object, bool) {
	items, ok := asList(raw)
	objects := make([]object, 0, len(items))
	for _, item := range items {
		members, isObject := asObject(item)
		if !isObject {
			return nil, false
		}
		objects = append(objects, members)
	}
	return objects, ok
}

func asText(raw []byte) string {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

func asIndex(raw []byte) (int, bool) {
	var number int
	if raw == nil || null(raw) || json.Unmarshal(raw, &number) != nil || number < 0 {
		return 0, false
	}
	return number, true
}

// null says whether a member is absent or null.
func null(raw []byte) bool { return len(raw) == 0 || bytes.Equal(bytes.TrimSpace(raw), []byte("null")) }

// bare says whether a member says nothing: absent, null, or empty.
func bare(raw []byte) bool {
	switch string(bytes.TrimSpace(raw)) {
	case "", "null", `""`, "[]", "{}":
		return true
	}
	return false
}

func quoted(text string) json.RawMessage { return encoded(text) }

func encoded(value any) json.RawMessage {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(value) != nil {
		return json.RawMessage("null") // strings, numbers, and trees of raw messages always encode
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))
}

func (o object) raw() json.RawMessage { return encoded(o) }

// with returns a copy of the object with other members.
func (o object) with(changes object) object {
	copied := make(object, len(o)+len(changes))
	for name, value := range o {
		copied[name] = value
	}
	for name, value := range changes {
		copied[name] = value
	}
	return copied
}

// text is a JSON string put together from its pieces. Pieces are joined as they are spelt, so that nothing is lost,
// not even of a surrogate pair that was cut in two.
type text struct {
	said   bool // by any piece, an empty one too
	pieces []byte
}

// add takes in a piece; null says nothing. It reports whether the piece is a string or null.
func (t *text) add(raw []byte) bool {
	if null(raw) {
		return true
	}
	raw = bytes.TrimSpace(raw)
	if len(raw) < 2 || raw[0] != '"' {
		return false
	}
	t.said = true
	t.pieces = append(t.pieces, raw[1:len(raw)-1]...)
	return true
}

// raw returns the whole string, or null when nothing was said.
func (t *text) raw() json.RawMessage {
	if !t.said {
		return json.RawMessage("null")
	}
	return append(append([]byte{'"'}, t.pieces...), '"')
}
