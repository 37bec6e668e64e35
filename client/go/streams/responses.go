package streams

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// responsesDocument takes the response out of the terminal event, which has it whole.
func responsesDocument(events []event) ([]byte, error) {
	items := 0
	for _, event := range events {
		switch kind := event.kind(); kind {
		case "error", "response.failed":
			return nil, fmt.Errorf("%w: it carries an error", ErrIncomplete)
		case "response.output_item.done":
			items++
		case "response.completed", "response.incomplete":
			response, ok := asObject(event.data["response"])
			output, isList := asList(response["output"])
			switch {
			case !ok:
				return nil, fmt.Errorf("%w: the terminal event has no response", ErrNotUnderstood)
			case !isList || len(output) != items:
				return nil, lossy("the terminal event does not have every output item")
			case null(response["usage"]):
				return nil, lossy("the stream has no usage, which a document always has")
			}
			return event.data["response"], nil
		}
	}
	return nil, fmt.Errorf("%w: the terminal event is missing", ErrIncomplete)
}

// responsesEvents writes a response as events.
func responsesEvents(out *writer, root object) error {
	items, ok := asObjects(root["output"])
	if !ok {
		return fmt.Errorf("%w: there is no output", ErrNotUnderstood)
	}
	status := asText(root["status"])
	if status != "completed" && status != "incomplete" {
		return fmt.Errorf("%w: its status is %q", ErrIncomplete, status)
	}
	events := responseEvents{out: out}
	nothing := json.RawMessage("null")
	begun := root.with(object{"status": quoted("in_progress"), "output": []byte("[]"), "usage": nothing})
	if _, ok := root["completed_at"]; ok {
		begun["completed_at"] = nothing
	}
	events.send("response.created", object{"response": begun.raw()})
	events.send("response.in_progress", object{"response": begun.raw()})
	for index, item := range items {
		events.item(index, item)
	}
	events.send("response."+status, object{"response": root.raw()})
	return nil
}

// responseEvents numbers the events of one response.
type responseEvents struct {
	out      *writer
	sequence int
}

func (e *responseEvents) send(kind string, data object) {
	number := json.RawMessage(strconv.Itoa(e.sequence))
	e.sequence++
	sendTyped(e.out, kind, data.with(object{"sequence_number": number}))
}

// item writes an output item: what is streamed in deltas, and everything else whole at its start and its end.
func (e *responseEvents) item(index int, item object) {
	at := json.RawMessage(strconv.Itoa(index))
	begun := item.with(nil)
	if item["status"] != nil && !null(item["status"]) {
		begun["status"] = quoted("in_progress")
	}
	kind := asText(item["type"])
	for _, name := range []string{"content", "summary"} {
		if !bare(item[name]) && (kind == "message" || kind == "reasoning") {
			begun[name] = []byte("[]")
		}
	}
	streamed := map[string]string{"function_call": "arguments", "custom_tool_call": "input"}[kind]
	if streamed != "" {
		begun[streamed] = quoted("")
	}
	e.send("response.output_item.added", object{"output_index": at, "item": begun.raw()})
	place := object{"output_index": at, "item_id": item["id"]}
	switch kind {
	case "message":
		e.parts(place, item["content"])
	case "reasoning":
		e.summary(place, item["summary"])
		e.parts(place, item["content"])
	case "function_call":
		e.send("response.function_call_arguments.delta", place.with(object{"delta": item["arguments"]}))
		done := object{"arguments": item["arguments"], "name": item["name"]}
		e.send("response.function_call_arguments.done", place.with(done))
	case "custom_tool_call":
		e.send("response.custom_tool_call_input.delta", place.with(object{"delta": item["input"]}))
		e.send("response.custom_tool_call_input.done", place.with(object{"input": item["input"]}))
	}
	e.send("response.output_item.done", object{"output_index": at, "item": item.raw()})
}

// parts writes the content of a message or of reasoning.
func (e *responseEvents) parts(place object, raw []byte) {
	parts, _ := asObjects(raw)
	for index, part := range parts {
		here := place.with(object{"content_index": []byte(strconv.Itoa(index))})
		kind := asText(part["type"])
		member := map[string]string{"refusal": "refusal"}[kind]
		if member == "" {
			member = "text"
		}
		begun := part.with(object{member: quoted("")})
		for _, name := range []string{"annotations", "logprobs"} {
			if !bare(part[name]) {
				begun[name] = []byte("[]")
			}
		}
		e.send("response.content_part.added", here.with(object{"part": begun.raw()}))
		extra := object{}
		if part["logprobs"] != nil {
			extra["logprobs"] = part["logprobs"]
		}
		if !bare(part[member]) {
			e.send("response."+kind+".delta", here.with(extra).with(object{"delta": part[member]}))
		}
		annotations, _ := asList(part["annotations"])
		for number, annotation := range annotations {
			added := object{"annotation": annotation, "annotation_index": []byte(strconv.Itoa(number))}
			e.send("response."+kind+".annotation.added", here.with(added))
		}
		e.send("response."+kind+".done", here.with(extra).with(object{member: part[member]}))
		e.send("response.content_part.done", here.with(object{"part": part.raw()}))
	}
}

func (e *responseEvents) summary(place object, raw []byte) {
	parts, _ := asObjects(raw)
	for index, part := range parts {
		here := place.with(object{"summary_index": []byte(strconv.Itoa(index))})
		begun := part.with(object{"text": quoted("")})
		e.send("response.reasoning_summary_part.added", here.with(object{"part": begun.raw()}))
		e.send("response.reasoning_summary_text.delta", here.with(object{"delta": part["text"]}))
		e.send("response.reasoning_summary_text.done", here.with(object{"text": part["text"]}))
		e.send("response.reasoning_summary_part.done", here.with(object{"part": part.raw()}))
	}
}
