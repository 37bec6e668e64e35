package main

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	askonce "github.com/askonce/askonce/client/go"
	"github.com/askonce/askonce/client/go/streams"
)

// describeDecision says in headers what the cache decided.
func (c *call) describeDecision(decision *askonce.Decision) {
	header := c.w.Header()
	set := func(name, value string) {
		if value != "" && value != "none" {
			header.Set(name, value)
		}
	}
	set("Cache-Status", decision.CacheStatus)
	set("X-Askonce-Cache-Kind", decision.Kind.String())
	reason := decision.BypassReason.String()
	if decision.DenyReason != 0 {
		reason = decision.DenyReason.String()
	}
	set("X-Askonce-Cache-Reason", reason)
	candidate := decision.Candidate
	if candidate == nil {
		return
	}
	set("X-Askonce-Cache-Entry", string(candidate.EntryID))
	if decision.Hit() {
		set("Age", strconv.FormatInt(int64(candidate.Age/time.Second), 10))
		set("X-Askonce-Cache-Verified", strconv.FormatBool(candidate.Verified))
	}
	if candidate.Similarity != nil && candidate.Threshold != nil {
		set("X-Askonce-Cache-Similarity", strconv.FormatFloat(*candidate.Similarity, 'f', 4, 64))
		set("X-Askonce-Cache-Threshold", strconv.FormatFloat(*candidate.Threshold, 'f', 4, 64))
	}
}

// reply serves a hit, in the shape that the caller asked for. It returns false, having sent nothing, where the stored
// answer cannot be given in that shape without loss.
func (c *call) reply(decision *askonce.Decision) (bool, error) {
	body, contentType := decision.Body(), decision.ContentType()
	stored := streams.IsStream(body)
	var err error
	switch {
	case c.stream && !stored:
		contentType = "text/event-stream"
		body, err = streams.ToEvents(c.endpoint.api, body, streams.EventOptions{IncludeUsage: c.wantsUsage()})
	case !c.stream && stored:
		contentType = "application/json"
		body, err = streams.ToDocument(c.endpoint.api, body)
	}
	if err != nil {
		return false, nil // the provider can do better
	}
	c.describeDecision(decision)
	c.w.Header().Set("Content-Type", contentType)
	if !c.stream {
		_, err = c.w.Write(body)
		return true, err
	}
	return true, c.replay(body)
}

// replay sends a stream frame by frame, as it was recorded.
func (c *call) replay(body []byte) error {
	flush := http.NewResponseController(c.w).Flush
	for number, frame := range streams.Frames(body) {
		if pause := c.gateway.config.replayPause(); pause > 0 && number > 0 {
			select {
			case <-time.After(pause):
			case <-c.r.Context().Done():
				return nil
			}
		}
		if _, err := c.w.Write(frame); err != nil {
			return nil // the caller has gone
		}
		_ = flush()
	}
	return nil
}

// wantsUsage says whether the caller asked for the usage at the end of a chat's stream.
func (c *call) wantsUsage() bool {
	var options struct {
		IncludeUsage bool `json:"include_usage"`
	}
	return json.Unmarshal(c.body["stream_options"], &options) == nil && options.IncludeUsage
}
