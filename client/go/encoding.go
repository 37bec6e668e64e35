package askonce

import (
	"encoding/binary"
	"math"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/askonce/askonce/client/go/gen/askonce/v1"
)

// encoder makes messages of the contract and gathers every bad field. What it says never quotes a value.
type encoder struct{ violations []Violation }

func (e *encoder) err() *Error {
	if len(e.violations) == 0 {
		return nil
	}
	return invalid(e.violations...)
}

func (e *encoder) wrong(path, problem string) {
	e.violations = append(e.violations, Violation{Field: path, Description: problem})
}

// text returns value, which gRPC would refuse, without a path, if it were not UTF-8.
func (e *encoder) text(path, value string) string {
	if !utf8.ValidString(value) {
		e.wrong(path, "must be UTF-8")
	}
	return value
}

func (e *encoder) texts(path string, values map[string]string) map[string]string {
	for key, value := range values {
		if !utf8.ValidString(key) || !utf8.ValidString(value) {
			e.wrong(path, "must be UTF-8")
			break
		}
	}
	return values
}

func encodeLookup(r *LookupRequest, budget time.Duration) (*pb.LookupRequest, *Error) {
	var e encoder
	message := &pb.LookupRequest{
		Descriptor_:        e.descriptor(&r.Descriptor),
		Controls:           e.controls(r.Controls),
		Budget:             durationpb.New(budget),
		OmitBody:           r.OmitBody,
		WaitForFill:        span(r.WaitForFill),
		AfterUpstreamError: r.AfterUpstreamError,
		Trace:              r.Trace,
		RequestId:          e.text("request_id", r.RequestID),
		Anchor:             r.Anchor,
	}
	for _, shape := range r.Accepts {
		message.Accepts = append(message.Accepts, pb.BodyShape(shape))
	}
	return message, e.err()
}

func encodeStore(r *StoreRequest) (*pb.StoreRequest, *Error) {
	var e encoder
	message := &pb.StoreRequest{
		Response:        e.response(&r.Response),
		Ttl:             span(r.TTL),
		LoggingDisabled: r.LoggingDisabled,
		Namespace:       e.text("namespace", r.Namespace),
	}
	switch source := r.Source.(type) {
	case Descriptor:
		message.Source = &pb.StoreRequest_Descriptor_{Descriptor_: e.descriptor(&source)}
	default:
		message.Source = &pb.StoreRequest_FillToken{FillToken: tokenOf(source)}
	}
	return message, e.err()
}

// tokenOf returns the fill token of a decision, or the token itself; nil when there is none.
func tokenOf(source Source) []byte {
	switch source := source.(type) {
	case *Decision:
		if source != nil {
			return source.FillToken
		}
	case FillToken:
		return source
	}
	return nil
}

func encodeFeedback(subject Subject, verdict Verdict, source string) (*pb.RecordFeedbackRequest, *Error) {
	var e encoder
	message := &pb.RecordFeedbackRequest{Verdict: pb.Verdict(verdict), Source: e.text("source", source)}
	switch subject := subject.(type) {
	case EntryID:
		message.Subject = &pb.RecordFeedbackRequest_EntryId{EntryId: e.text("entry_id", string(subject))}
	case FeedbackToken:
		message.Subject = &pb.RecordFeedbackRequest_FeedbackToken{FeedbackToken: subject}
	case *Decision:
		if subject != nil {
			message.Subject = &pb.RecordFeedbackRequest_FeedbackToken{FeedbackToken: subject.FeedbackToken}
		}
	}
	return message, e.err()
}

func (e *encoder) descriptor(d *Descriptor) *pb.RequestDescriptor {
	message := &pb.RequestDescriptor{
		Dialect:      e.text("descriptor.dialect", d.Dialect),
		Endpoint:     e.text("descriptor.endpoint", d.Endpoint),
		Served:       e.target("descriptor.served", d.Served),
		Requested:    e.target("descriptor.requested", d.Requested),
		RouteId:      e.text("descriptor.route_id", d.RouteID),
		RouteVersion: e.text("descriptor.route_version", d.RouteVersion),
		RuleBranch:   e.text("descriptor.rule_branch", d.RuleBranch),
		Stream:       d.Stream,
		Scope:        e.texts("descriptor.scope", d.Scope),
		Versions:     e.texts("descriptor.versions", d.Versions),
		Headers:      e.texts("descriptor.headers", d.Headers),
		Personalized: d.Personalized,
		Attributes:   e.texts("descriptor.attributes", d.Attributes),
	}
	if d.Content != nil {
		d.Content.describe(message)
	}
	if digests := message.GetDigests(); digests != nil {
		e.text("descriptor.digests.canonicalization", digests.GetCanonicalization())
		e.text("descriptor.digests.canonicalization_version", digests.GetCanonicalizationVersion())
	}
	if d.Embedding != nil {
		embedder := e.text("descriptor.embedding.embedder", d.Embedding.Embedder)
		message.Embedding = &pb.Embedding{Embedder: embedder, Values: littleEndian(d.Embedding.Values)}
	}
	return message
}

func (b ProviderBody) describe(message *pb.RequestDescriptor) {
	message.Content = &pb.RequestDescriptor_BodyJson{BodyJson: b}
}

func (p Parts) describe(message *pb.RequestDescriptor) {
	parts := &pb.Content{Messages: p.Messages, System: p.System, Tools: p.Tools, Params: p.Params}
	message.Content = &pb.RequestDescriptor_Parts{Parts: parts}
}

func (d Digests) describe(message *pb.RequestDescriptor) {
	message.Content = &pb.RequestDescriptor_Digests{Digests: &pb.Digests{
		ExactSha256:             d.ExactSHA256,
		NormalizedSha256:        d.NormalizedSHA256,
		Canonicalization:        d.Canonicalization,
		CanonicalizationVersion: d.CanonicalizationVersion,
		Facts: &pb.DigestFacts{
			Sampling:      d.Facts.Sampling,
			RemoteContent: d.Facts.RemoteContent,
			Stateful:      d.Facts.Stateful,
			Personalized:  d.Facts.Personalized,
		},
	}}
}

func (e *encoder) controls(c *Controls) *pb.Controls {
	if c == nil {
		return nil
	}
	message := &pb.Controls{
		Mode:            pb.CacheMode(c.Mode),
		Ttl:             span(c.TTL),
		Namespace:       e.text("controls.namespace", c.Namespace),
		MinFresh:        span(c.MinFresh),
		MaxStale:        span(c.MaxStale),
		LoggingDisabled: c.LoggingDisabled,
	}
	if c.MaxAge != nil {
		message.MaxAge = durationpb.New(*c.MaxAge)
	}
	return message
}

func (e *encoder) response(r *UpstreamResponse) *pb.UpstreamResponse {
	message := &pb.UpstreamResponse{
		Body:                    r.Body,
		ContentType:             e.text("response.content_type", r.ContentType),
		StatusCode:              int32(min(max(r.StatusCode, 0), math.MaxInt32)),
		FinishReasons:           r.FinishReasons,
		StreamComplete:          r.StreamComplete,
		CostUsd:                 r.CostUSD,
		ContainsToolCalls:       r.ContainsToolCalls,
		Refused:                 r.Refused,
		OutputGuardrailModified: r.OutputGuardrailModified,
		GuardrailFailedOpen:     r.GuardrailFailedOpen,
		Cacheable:               r.Cacheable,
		Served:                  e.target("response.served", r.Served),
		FallbackUsed:            r.FallbackUsed,
		SourceRequestId:         e.text("response.source_request_id", r.SourceRequestID),
	}
	for _, reason := range r.FinishReasons {
		e.text("response.finish_reasons", reason)
	}
	if r.Usage != nil {
		message.Usage = &pb.Usage{InputTokens: r.Usage.InputTokens, OutputTokens: r.Usage.OutputTokens}
	}
	if !r.RequestStartTime.IsZero() {
		message.RequestStartTime = timestamppb.New(r.RequestStartTime)
	}
	return message
}

func (e *encoder) target(path string, target Target) *pb.Target {
	if target == (Target{}) {
		return nil
	}
	return &pb.Target{
		Provider: e.text(path+".provider", target.Provider),
		Model:    e.text(path+".model", target.Model),
	}
}

func littleEndian(values []float32) []byte {
	raw := make([]byte, 0, 4*len(values))
	for _, value := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(value))
	}
	return raw
}

// span returns a length of time; 0 means that it was not given.
func span(d time.Duration) *durationpb.Duration {
	if d == 0 {
		return nil
	}
	return durationpb.New(d)
}
