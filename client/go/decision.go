package askonce

import "time"

// Body is a stored answer as the gateway gave it. It may be shared: do not change Data.
type Body struct {
	Data        []byte
	ContentType string
}

// Usage is tokens as the provider counted them.
type Usage struct {
	InputTokens  uint64
	OutputTokens uint64
}

// Evidence is what a vote policy found around a semantic candidate. Shares are 0 to 1.
type Evidence struct {
	Vote       float64
	Cut        float64
	Labels     uint64
	Wrong      uint64
	UpperBound float64
}

// Candidate is the stored entry that a matcher proposed. A nil pointer means that nothing was said.
type Candidate struct {
	// EntryID is 64 hex characters.
	EntryID   EntryID
	EntrySHA7 string
	ScopeSHA7 string
	// Similarity is a cosine, -1 to 1; nil for candidates that are not semantic.
	Similarity   *float64
	Threshold    *float64
	LowThreshold *float64
	Zone         Zone
	Verified     bool
	Verifier     string
	// Age counts from the start of the request that the answer was made for.
	Age time.Duration
	// TTLLeft is negative when the answer is stale.
	TTLLeft           time.Duration
	StoreTime         time.Time
	ExpireTime        time.Time
	SourceRequestID   string
	Stream            BodyShape
	ContainsToolCalls bool
	// Usage is that of the answer when it was made. A hit is not billed.
	Usage    *Usage
	Evidence *Evidence
	// CostAvoidedUSD is nil when it is unknown, which is not zero.
	CostAvoidedUSD *float64
	// Body is present only on a hit, and not when the caller asked for none.
	Body *Body
}

// SkippedMatcher is a matcher that was not asked, and why.
type SkippedMatcher struct {
	Matcher MatchKind
	Reason  BypassReason
}

// TraceStep is one step on the way to a decision.
type TraceStep struct {
	Name     string
	Duration time.Duration
	Result   string
}

// Decision is the answer of a Lookup: serve this body, call the provider and then store, or leave the cache aside.
// Reading it lazily is safe: only a hit looks like a hit.
type Decision struct {
	Outcome   Outcome
	ID        string
	Kind      MatchKind
	Candidate *Candidate
	// BypassReason says why there is a bypass; on a miss it is the last matcher's skip.
	BypassReason BypassReason
	// DenyReason says why a candidate was not served; only on a miss.
	DenyReason DenyReason
	Skipped    []SkippedMatcher
	// StoreAnswer says: call Store with this decision after the provider has answered.
	StoreAnswer bool
	FillToken   FillToken
	// LeaseHolder says that others wait for this caller's Store or Abandon.
	LeaseHolder bool
	// Collapsed says that this caller waited for another's Store.
	Collapsed bool
	Stale     bool
	// SameAs is, in a batch, the index of an earlier, identical item; nil when there is none.
	SameAs *int
	RuleID string
	// Shadow says that the rule only watches: never a hit, and the candidate is what would have been served.
	Shadow bool
	// CacheStatus is the value of an RFC 9211 Cache-Status field.
	CacheStatus        string
	EmbedCostUSD       *float64
	FeedbackToken      FeedbackToken
	ConversationAnchor string
	Trace              []TraceStep
	// BodyOmitted says that the caller asked for no body.
	BodyOmitted bool
	// Err, an *Error, is why there is no decision of the sidecar. Only on a bypass.
	Err error
}

// Hit says whether the body is to be served. Never true without one, unless the caller asked for none.
func (d *Decision) Hit() bool {
	return d.Outcome == OutcomeHit && (d.BodyOmitted || d.served() != nil)
}

// Body returns the answer to serve, which must not be changed; nil unless this is a hit with a body.
func (d *Decision) Body() []byte {
	if body := d.served(); body != nil {
		return body.Data
	}
	return nil
}

// ContentType returns the media type of the body; empty when there is none.
func (d *Decision) ContentType() string {
	if body := d.served(); body != nil {
		return body.ContentType
	}
	return ""
}

func (d *Decision) served() *Body {
	if d.Outcome != OutcomeHit || d.Candidate == nil {
		return nil
	}
	return d.Candidate.Body
}

// StoredEntry is an entry that was written.
type StoredEntry struct {
	Kind    MatchKind
	EntryID EntryID
}

// StoreResult is what became of a Store.
type StoreResult struct {
	Outcome       StoreOutcome
	RefusalReason RefusalReason
	// Entries lists one a matcher.
	Entries    []StoredEntry
	ExpireTime time.Time
	// CacheStatus is the value of an RFC 9211 Cache-Status field for the response that was stored.
	CacheStatus string
	// Err, an *Error, is why there is no acknowledgement of the sidecar. Only on a refusal.
	Err error
}

// Stored says whether the answer is durable and visible.
func (r *StoreResult) Stored() bool { return r.Outcome == OutcomeStored }

// AbandonResult is what became of an Abandon.
type AbandonResult struct {
	// Released says that a lease was held and is free now.
	Released bool
	Err      error
}

// FeedbackResult is what became of a judgement.
type FeedbackResult struct {
	Recorded bool
	Err      error
}
