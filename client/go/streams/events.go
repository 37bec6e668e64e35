package streams

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// event is one server-sent event that has data. Data is nil for OpenAI's [DONE].
type event struct {
	name string
	data object
}

func (e event) done() bool { return e.data == nil }

// kind returns the event's type: as its data says, else by its name.
func (e event) kind() string {
	if kind := asText(e.data["type"]); kind != "" {
		return kind
	}
	return e.name
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// IsStream says whether a body is a recorded stream of events; what it says of itself outweighs any content type.
func IsStream(body []byte) bool {
	body = bytes.TrimSpace(bytes.TrimPrefix(body, byteOrderMark))
	for _, start := range []string{"data:", "event:", "id:", "retry:", ":"} {
		if bytes.HasPrefix(body, []byte(start)) {
			return true
		}
	}
	return false
}

// Frames splits a recorded stream into its frames, each with the blank line that ends it. Joined, they are the
// stream again, byte for byte.
func Frames(stream []byte) [][]byte {
	var frames [][]byte
	for len(stream) > 0 {
		end := frameEnd(stream)
		frames = append(frames, stream[:end])
		stream = stream[end:]
	}
	return frames
}

// frameEnd returns where the first frame ends, behind its blank line.
func frameEnd(stream []byte) int {
	for position := 0; position < len(stream); {
		line := lineEnd(stream[position:])
		position += line
		if blank := lineEnd(stream[position:]); blank > 0 && isBreak(stream[position:position+blank]) {
			return position + blank
		}
	}
	return len(stream)
}

// lineEnd returns the length of the first line with its break: LF, CR LF or CR.
func lineEnd(text []byte) int {
	at := bytes.IndexAny(text, "\r\n")
	switch {
	case at < 0:
		return len(text)
	case text[at] == '\r' && at+1 < len(text) && text[at+1] == '\n':
		return at + 2
	}
	return at + 1
}

func isBreak(line []byte) bool { return len(bytes.Trim(line, "\r\n")) == 0 }

// parse reads server-sent events (WHATWG HTML, section 9.2). Events without data are left out, and so is one that
// was cut at the end of the stream. It fails with ErrNotUnderstood at data that is neither an object nor [DONE].
func parse(stream []byte) ([]event, error) {
	frames := Frames(bytes.TrimPrefix(stream, byteOrderMark))
	events := make([]event, 0, len(frames))
	for position, frame := range frames {
		name, data := fields(frame)
		switch {
		case len(data) == 0:
		case string(data) == "[DONE]":
			events = append(events, event{name: name})
		default:
			members, ok := asObject(data)
			if ok {
				events = append(events, event{name: name, data: members})
			} else if json.Valid(data) || position < len(frames)-1 {
				return nil, fmt.Errorf("%w: an event is no JSON object", ErrNotUnderstood)
			}
		}
	}
	return events, nil
}

// fields returns the name and the joined data lines of one frame.
func fields(frame []byte) (name string, data []byte) {
	for len(frame) > 0 {
		end := lineEnd(frame)
		field, value, _ := bytes.Cut(bytes.TrimRight(frame[:end], "\r\n"), []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			name = string(value)
		case "data":
			if data != nil {
				data = append(data, '\n')
			}
			data = append(data, value...)
		}
		frame = frame[end:]
	}
	return name, bytes.TrimSpace(data)
}
