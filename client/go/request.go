package askonce

import "time"

// Controls is what a caller asks of the cache for one request. It can narrow what the rule allows, never widen it.
type Controls struct {
	// Mode is what the cache may do. 0 means ModeDefault.
	Mode CacheMode
	// TTL is how long the answer may be served. 0: the rule's.
	TTL time.Duration
	// Namespace splits the scope further.
	Namespace string
	// MaxAge is the greatest age that the caller accepts. Nil: any.
	MaxAge *time.Duration
	// MinFresh is how long the answer must stay fresh from now on.
	MinFresh time.Duration
	// MaxStale is how far past its ttl the caller would take an answer, as far as the rule allows.
	MaxStale time.Duration
	// LoggingDisabled says that nothing may be written for this request. It may be answered from the cache.
	LoggingDisabled bool
}

// LookupRequest is one question: may a stored answer be served for this request?
type LookupRequest struct {
	Descriptor Descriptor
	Controls   *Controls
	// Budget is how long the Lookup may take, in place of the client's. 0: the client's.
	Budget time.Duration
	// OmitBody leaves the body out of a hit.
	OmitBody bool
	// Accepts lists the shapes that the caller can replay, under a rule whose key leaves the shape out.
	Accepts []BodyShape
	// WaitForFill is how long to wait, beyond the budget, for another caller that is already filling the same miss.
	WaitForFill time.Duration
	// AfterUpstreamError says that the provider has just failed, so a stale answer would do.
	AfterUpstreamError bool
	// Trace asks for the steps of the decision.
	Trace bool
	// RequestID is the request in the gateway's words, for traces. Never key material.
	RequestID string
	// Anchor asks for the conversation anchor.
	Anchor bool
}

// LookupOption changes one LookupRequest.
type LookupOption func(*LookupRequest)

// WithControls narrows what the cache may do for this request.
func WithControls(controls Controls) LookupOption {
	return func(r *LookupRequest) { r.Controls = &controls }
}

// WithBudgetOf gives this Lookup another budget than the client's.
func WithBudgetOf(budget time.Duration) LookupOption {
	return func(r *LookupRequest) { r.Budget = budget }
}

// WithWaitForFill waits up to wait, beyond the budget, for another caller that is already filling the same miss.
func WithWaitForFill(wait time.Duration) LookupOption {
	return func(r *LookupRequest) { r.WaitForFill = wait }
}

// WithAccepts says which shapes the caller can replay, under a rule whose key leaves the shape out.
func WithAccepts(shapes ...BodyShape) LookupOption {
	return func(r *LookupRequest) { r.Accepts = shapes }
}

// WithRequestID names the request in the gateway's words, for traces.
func WithRequestID(id string) LookupOption {
	return func(r *LookupRequest) { r.RequestID = id }
}

// WithoutBody leaves the body out of a hit.
func WithoutBody() LookupOption { return func(r *LookupRequest) { r.OmitBody = true } }

// WithTrace asks for the steps of the decision.
func WithTrace() LookupOption { return func(r *LookupRequest) { r.Trace = true } }

// WithAnchor asks for the conversation anchor.
func WithAnchor() LookupOption { return func(r *LookupRequest) { r.Anchor = true } }

// AfterUpstreamError says that the provider has just failed, so a stale answer would do.
func AfterUpstreamError() LookupOption {
	return func(r *LookupRequest) { r.AfterUpstreamError = true }
}

// Source is under what an answer is filed: the *Decision of its Lookup, that decision's FillToken, or a Descriptor
// for an answer that no Lookup preceded.
type Source interface{ source() }

// FillToken is what a Lookup hands out so that the later Store files the answer under what was looked up.
type FillToken []byte

func (*Decision) source()  {}
func (FillToken) source()  {}
func (Descriptor) source() {}

// StoreRequest is one answer to file.
type StoreRequest struct {
	Source   Source
	Response UpstreamResponse
	// TTL is how long the answer may be served. 0: as looked up, else the rule's.
	TTL time.Duration
	// LoggingDisabled says that nothing may be written.
	LoggingDisabled bool
	// Namespace splits the scope further. Used only with a Descriptor.
	Namespace string
}

// StoreOption changes one StoreRequest.
type StoreOption func(*StoreRequest)

// WithTTL says how long the answer may be served.
func WithTTL(ttl time.Duration) StoreOption { return func(r *StoreRequest) { r.TTL = ttl } }

// WithNamespace splits the scope further. Used only with a Descriptor.
func WithNamespace(namespace string) StoreOption {
	return func(r *StoreRequest) { r.Namespace = namespace }
}

// WithoutLogging says that nothing may be written.
func WithoutLogging() StoreOption { return func(r *StoreRequest) { r.LoggingDisabled = true } }

// Subject is which answer a judgement is on: a *Decision, its FeedbackToken, or an EntryID.
type Subject interface{ subject() }

// FeedbackToken is what a Lookup hands out so that its answer can be judged later.
type FeedbackToken []byte

// EntryID is the full id of an entry: 64 hex characters.
type EntryID string

func (*Decision) subject()     {}
func (FeedbackToken) subject() {}
func (EntryID) subject()       {}
