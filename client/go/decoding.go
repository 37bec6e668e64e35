package askonce

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/askonce/askonce/client/go/gen/askonce/v1"
)

// decodeDecision reads a decision. What is not known, or contradicts itself, reads as "no cache". twin is the
// decision of an earlier, identical item of the batch, whose body this one borrows, or nil. It fails for a hit that
// cannot be served, since it has no body or says that it is a shadow.
func decodeDecision(m *pb.Decision, omitBody bool, twin *Decision) (*Decision, *Error) {
	outcome := Outcome(m.GetOutcome())
	if outcome != OutcomeHit && outcome != OutcomeMiss {
		outcome = OutcomeBypass
	}
	hit, bypass := outcome == OutcomeHit, outcome == OutcomeBypass
	found := decodeCandidate(m.GetCandidate(), hit)
	if hit && twin != nil && twin.Hit() {
		found = withBodyOf(found, twin)
	}
	switch {
	case hit && m.GetShadow():
		return nil, failure(ErrSidecarFailed, "the sidecar sent a hit of a rule that only watches")
	case hit && !omitBody && (found == nil || found.Body == nil):
		return nil, failure(ErrSidecarFailed, "the sidecar sent a hit without a body")
	}
	decision := &Decision{
		Outcome:            outcome,
		ID:                 m.GetDecisionId(),
		Kind:               known(MatchKind(m.GetKind()), pb.MatchKind_name),
		Candidate:          found,
		BypassReason:       known(BypassReason(m.GetBypassReason()), pb.BypassReason_name),
		DenyReason:         known(DenyReason(m.GetDenyReason()), pb.DenyReason_name),
		Collapsed:          m.GetCollapsed(),
		Stale:              m.GetStale(),
		RuleID:             m.GetRuleId(),
		Shadow:             m.GetShadow(),
		CacheStatus:        m.GetCacheStatus(),
		EmbedCostUSD:       m.EmbedCostUsd,
		FeedbackToken:      m.GetFeedbackToken(),
		ConversationAnchor: m.GetConversationAnchor(),
		BodyOmitted:        omitBody,
	}
	if bypass && decision.BypassReason == 0 {
		decision.BypassReason = BypassUnknown
	}
	if !bypass { // nothing is stored after a bypass, nor after an outcome that this client does not know
		decision.StoreAnswer, decision.FillToken = m.GetStoreAnswer(), m.GetFillToken()
		decision.LeaseHolder = m.GetLeaseHolder()
	}
	if m.SameAs != nil {
		index := int(m.GetSameAs())
		decision.SameAs = &index
	}
	for _, skip := range m.GetSkipped() {
		matcher := known(MatchKind(skip.GetMatcher()), pb.MatchKind_name)
		reason := known(BypassReason(skip.GetReason()), pb.BypassReason_name)
		decision.Skipped = append(decision.Skipped, SkippedMatcher{Matcher: matcher, Reason: reason})
	}
	for _, step := range m.GetTrace() {
		took := step.GetDuration().AsDuration()
		decision.Trace = append(decision.Trace, TraceStep{step.GetName(), took, step.GetResult()})
	}
	return decision, nil
}

// noDecision returns the bypass that stands for a decision that never came.
func noDecision(err *Error) *Decision {
	reason := BypassReason(localReason[err.Kind])
	status := "askonce; fwd=bypass; detail=" + reason.String()
	return &Decision{Outcome: OutcomeBypass, BypassReason: reason, CacheStatus: status, Err: err}
}

func withBodyOf(found *Candidate, original *Decision) *Candidate {
	switch {
	case found == nil || original.Candidate == nil:
		return original.Candidate
	case found.Body == nil:
		found.Body = original.Candidate.Body
	}
	return found
}

func decodeCandidate(m *pb.Candidate, hit bool) *Candidate {
	if m == nil {
		return nil
	}
	candidate := &Candidate{
		EntryID:           EntryID(m.GetEntryId()),
		EntrySHA7:         m.GetEntrySha7(),
		ScopeSHA7:         m.GetScopeSha7(),
		Similarity:        m.Similarity,
		Threshold:         m.Threshold,
		LowThreshold:      m.LowThreshold,
		Zone:              known(Zone(m.GetZone()), pb.Zone_name),
		Verified:          m.GetVerified(),
		Verifier:          m.GetVerifier(),
		Age:               m.GetAge().AsDuration(),
		TTLLeft:           m.GetTtlLeft().AsDuration(),
		StoreTime:         instant(m.GetStoreTime()),
		ExpireTime:        instant(m.GetExpireTime()),
		SourceRequestID:   m.GetSourceRequestId(),
		Stream:            known(BodyShape(m.GetStream()), pb.BodyShape_name),
		ContainsToolCalls: m.GetContainsToolCalls(),
		CostAvoidedUSD:    m.CostAvoidedUsd,
	}
	if usage := m.GetUsage(); usage != nil {
		candidate.Usage = &Usage{usage.GetInputTokens(), usage.GetOutputTokens()}
	}
	if e := m.GetEvidence(); e != nil {
		candidate.Evidence = &Evidence{e.GetVote(), e.GetCut(), e.GetLabels(), e.GetWrong(), e.GetUpperBound()}
	}
	if body := m.GetBody(); hit && body != nil {
		candidate.Body = &Body{Data: body.GetData(), ContentType: body.GetContentType()}
	}
	return candidate
}

func decodeStored(m *pb.StoreResponse) *StoreResult {
	result := &StoreResult{
		Outcome:       OutcomeRefused,
		RefusalReason: known(RefusalReason(m.GetRefusalReason()), pb.RefusalReason_name),
		ExpireTime:    instant(m.GetExpireTime()),
		CacheStatus:   m.GetCacheStatus(),
	}
	if m.GetOutcome() == pb.StoreOutcome_STORE_OUTCOME_STORED {
		result.Outcome = OutcomeStored
	} else if result.RefusalReason == 0 {
		result.RefusalReason = RefusalUnknown
	}
	for _, entry := range m.GetEntries() {
		kind := known(MatchKind(entry.GetKind()), pb.MatchKind_name)
		result.Entries = append(result.Entries, StoredEntry{Kind: kind, EntryID: EntryID(entry.GetEntryId())})
	}
	return result
}

// notStored returns the refusal that stands for an acknowledgement that never came.
func notStored(err *Error) *StoreResult {
	return &StoreResult{Outcome: OutcomeRefused, RefusalReason: RefusalReason(localReason[err.Kind]), Err: err}
}

// nothingToFill returns the refusal of a Store that its decision did not ask for.
func nothingToFill() *StoreResult {
	return &StoreResult{Outcome: OutcomeRefused, RefusalReason: RefusalNothingToFill}
}

func instant(m *timestamppb.Timestamp) time.Time {
	if m == nil {
		return time.Time{}
	}
	return m.AsTime()
}
