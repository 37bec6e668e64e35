package askonce

import (
	"strings"

	pb "github.com/askonce/askonce/client/go/gen/askonce/v1"
)

// What a decision can say: the enums of the contract, open to values that a newer sidecar may send.
//
// Numbers are those of askonce/v1. 0 means that nothing was said. Negative numbers never travel: they are this
// client's own, for what happened before or instead of an answer of the sidecar. Every enum prints as the
// lower-case name that the sidecar's telemetry uses.

// Outcome is what the caller has to do. A number that this client does not know reads as OutcomeBypass.
type Outcome int32

// The outcomes.
const (
	OutcomeHit    Outcome = 1 // Serve the decision's body.
	OutcomeMiss   Outcome = 2 // Call the provider, then store if StoreAnswer is set.
	OutcomeBypass Outcome = 3 // Call the provider and store nothing.
)

// StoreOutcome is what became of a Store. A number that this client does not know reads as OutcomeRefused.
type StoreOutcome int32

// The outcomes of a Store.
const (
	OutcomeStored  StoreOutcome = 1 // The answer is durable, and visible to the next Lookup.
	OutcomeRefused StoreOutcome = 2 // Nothing was stored; see the reason.
)

// MatchKind is the matcher that a candidate or an entry belongs to.
type MatchKind int32

// The matchers.
const (
	MatchUnknown    MatchKind = -1
	MatchExact      MatchKind = 1
	MatchNormalized MatchKind = 2
	MatchSemantic   MatchKind = 3
)

// Zone is where a similarity falls.
type Zone int32

// The zones.
const (
	ZoneUnknown Zone = -1
	ZoneAbove   Zone = 1
	ZoneGray    Zone = 2
	ZoneBelow   Zone = 3
)

// BodyShape is the shape of a response body.
type BodyShape int32

// The shapes.
const (
	ShapeUnknown BodyShape = -1
	ShapeStream  BodyShape = 1
	ShapeJSON    BodyShape = 2
)

// CacheMode is what the caller allows the cache to do for one request.
type CacheMode int32

// The modes.
const (
	ModeDefault  CacheMode = 1 // Read and write as the rule allows.
	ModeBypass   CacheMode = 2 // Neither read nor write.
	ModeRefresh  CacheMode = 3 // Do not read, but write: the fresh answer replaces the entry.
	ModeReadOnly CacheMode = 4 // Read, but do not write.
)

// Verdict is a judgement on a served answer.
type Verdict int32

// The verdicts.
const (
	VerdictCorrect Verdict = 1
	VerdictWrong   Verdict = 2 // It was an answer to another question.
	VerdictStale   Verdict = 3 // It was right once and is not any more.
)

// BypassReason says why a request, or one matcher, never looked anything up.
type BypassReason int32

// The reasons of a bypass; those below zero are this client's own.
const (
	// The caller's context ended first.
	BypassCallerGone BypassReason = -10
	// This client has a bug; please report the decision's error.
	BypassClientFault BypassReason = -8
	// The client was closed.
	BypassClientClosed BypassReason = -7
	// The sidecar, or this client before it, refused the call itself: malformed, too large, not allowed.
	BypassRequestRefused BypassReason = -6
	// The sidecar failed too often just now; it was not asked.
	BypassCircuitOpen BypassReason = -5
	// The sidecar answered with a fault, or with what is not an answer.
	BypassSidecarFailed BypassReason = -4
	// The sidecar did not answer within the budget.
	BypassSidecarTimeout BypassReason = -3
	// Nobody listens at the target, or the connection broke.
	BypassSidecarUnreachable     BypassReason = -2
	BypassUnknown                BypassReason = -1
	BypassNoRule                 BypassReason = 1
	BypassDisabled               BypassReason = 2
	BypassCallerBypass           BypassReason = 3
	BypassScopeMissing           BypassReason = 4
	BypassSampledRequest         BypassReason = 5
	BypassRemoteContent          BypassReason = 6
	BypassStatefulRequest        BypassReason = 7
	BypassUnmodelledParam        BypassReason = 8
	BypassUnrepresentableContent BypassReason = 9
	BypassPersonalized           BypassReason = 10
	BypassTimeSensitive          BypassReason = 11
	BypassTooLarge               BypassReason = 12
	BypassWhitespaceSignificant  BypassReason = 13
	BypassHistoryTooLong         BypassReason = 14
	BypassNoEmbeddableText       BypassReason = 15
	BypassTextTooLong            BypassReason = 16
	BypassEmbeddingMissing       BypassReason = 17
	BypassEmbedderFailed         BypassReason = 18
	BypassPartitionLoading       BypassReason = 19
	BypassOverBudget             BypassReason = 20
	BypassStoreFailed            BypassReason = 21
	BypassPartitionTooLarge      BypassReason = 22
)

// DenyReason says why a candidate was not served although one existed.
type DenyReason int32

// The reasons of a denial.
const (
	DenyUnknown                 DenyReason = -1
	DenyBelowThreshold          DenyReason = 1
	DenyGrayUnverified          DenyReason = 2
	DenyVerifierRejected        DenyReason = 3
	DenyVerifierFailed          DenyReason = 4
	DenyVerifierTooFewNeighbors DenyReason = 5
	DenyGuardNumber             DenyReason = 6
	DenyGuardNegation           DenyReason = 7
	DenyGuardEntity             DenyReason = 8
	DenyGuardOrder              DenyReason = 9
	DenyGuardLexical            DenyReason = 10
	DenyExplore                 DenyReason = 11
	DenyQuarantined             DenyReason = 12
	DenyTooOld                  DenyReason = 13
	DenyExpired                 DenyReason = 14
	DenyStreamShape             DenyReason = 15
	DenyToolCalls               DenyReason = 16
	DenyRefresh                 DenyReason = 17
	DenyNotAdmitted             DenyReason = 18
)

// RefusalReason says why an answer was not stored. The negative ones mean what they mean as a BypassReason.
type RefusalReason int32

// The reasons of a refusal.
const (
	RefusalCallerGone RefusalReason = -10
	// The decision asked for no Store, so nothing was sent.
	RefusalNothingToFill  RefusalReason = -9
	RefusalClientFault    RefusalReason = -8
	RefusalClientClosed   RefusalReason = -7
	RefusalRequestRefused RefusalReason = -6
	RefusalCircuitOpen    RefusalReason = -5
	RefusalSidecarFailed  RefusalReason = -4
	// The sidecar did not acknowledge in time; it may have stored the answer all the same.
	RefusalSidecarTimeout         RefusalReason = -3
	RefusalSidecarUnreachable     RefusalReason = -2
	RefusalUnknown                RefusalReason = -1
	RefusalUpstreamError          RefusalReason = 1
	RefusalTruncated              RefusalReason = 2
	RefusalContentFiltered        RefusalReason = 3
	RefusalRefusal                RefusalReason = 4
	RefusalStreamIncomplete       RefusalReason = 5
	RefusalEmpty                  RefusalReason = 6
	RefusalGuardrailModified      RefusalReason = 7
	RefusalGuardrailFailedOpen    RefusalReason = 8
	RefusalNoUsage                RefusalReason = 9
	RefusalInvalidToolJSON        RefusalReason = 10
	RefusalNotCacheable           RefusalReason = 11
	RefusalTooLarge               RefusalReason = 12
	RefusalLoggingDisabled        RefusalReason = 13
	RefusalReadOnly               RefusalReason = 14
	RefusalServedMismatch         RefusalReason = 15
	RefusalFallbackServed         RefusalReason = 16
	RefusalToolCalls              RefusalReason = 17
	RefusalGenerationChanged      RefusalReason = 18
	RefusalTokenExpired           RefusalReason = 19
	RefusalStoreFull              RefusalReason = 20
	RefusalStoreFailed            RefusalReason = 21
	RefusalNoRule                 RefusalReason = 22
	RefusalDisabled               RefusalReason = 23
	RefusalScopeMissing           RefusalReason = 24
	RefusalSampledRequest         RefusalReason = 25
	RefusalRemoteContent          RefusalReason = 26
	RefusalStatefulRequest        RefusalReason = 27
	RefusalUnmodelledParam        RefusalReason = 28
	RefusalUnrepresentableContent RefusalReason = 29
	RefusalPersonalized           RefusalReason = 30
	RefusalTimeSensitive          RefusalReason = 31
	RefusalNoMatcher              RefusalReason = 32
	RefusalExpired                RefusalReason = 33
)

// localReasons are the names of what happens before or instead of an answer of the sidecar.
var localReasons = map[int32]string{
	-10: "caller_gone", -9: "nothing_to_fill", -8: "client_fault", -7: "client_closed", -6: "request_refused",
	-5: "circuit_open", -4: "sidecar_failed", -3: "sidecar_timeout", -2: "sidecar_unreachable", -1: "unknown",
}

func (o Outcome) String() string      { return name(int32(o), pb.Outcome_name, "OUTCOME_") }
func (o StoreOutcome) String() string { return name(int32(o), pb.StoreOutcome_name, "STORE_OUTCOME_") }
func (k MatchKind) String() string    { return name(int32(k), pb.MatchKind_name, "MATCH_KIND_") }
func (z Zone) String() string         { return name(int32(z), pb.Zone_name, "ZONE_") }
func (s BodyShape) String() string    { return name(int32(s), pb.BodyShape_name, "BODY_SHAPE_") }
func (m CacheMode) String() string    { return name(int32(m), pb.CacheMode_name, "CACHE_MODE_") }
func (v Verdict) String() string      { return name(int32(v), pb.Verdict_name, "VERDICT_") }
func (r BypassReason) String() string { return name(int32(r), pb.BypassReason_name, "BYPASS_REASON_") }
func (r DenyReason) String() string   { return name(int32(r), pb.DenyReason_name, "DENY_REASON_") }
func (r RefusalReason) String() string {
	return name(int32(r), pb.RefusalReason_name, "REFUSAL_REASON_")
}

// name returns what telemetry calls a number; "none" stands for 0.
func name(number int32, names map[int32]string, prefix string) string {
	if number == 0 {
		return "none"
	}
	if local, ok := localReasons[number]; ok {
		return local
	}
	if known, ok := names[number]; ok {
		return strings.ToLower(strings.TrimPrefix(known, prefix))
	}
	return "unknown"
}

// known returns a number of the contract as it is, and -1 for one that this client does not know.
func known[T ~int32](number T, names map[int32]string) T {
	if _, ok := names[int32(number)]; ok {
		return number
	}
	return -1
}
