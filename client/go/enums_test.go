package askonce

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	pb "github.com/askonce/askonce/client/go/gen/askonce/v1"
)

// Every number of the contract has its constant, under the contract's name.
func TestEveryReasonOfTheContractHasItsConstant(t *testing.T) {
	source, err := os.ReadFile("enums.go")
	if err != nil {
		t.Fatal(err)
	}
	for short, names := range map[string]map[int32]string{
		"Bypass": pb.BypassReason_name, "Deny": pb.DenyReason_name, "Refusal": pb.RefusalReason_name,
	} {
		for number, name := range names {
			if number == 0 {
				continue
			}
			words := strings.Split(strings.TrimPrefix(name, strings.ToUpper(short)+"_REASON_"), "_")
			pattern := fmt.Sprintf(`(?mi)^\t%s%s\s+%sReason = %d\b`, short, strings.Join(words, ""), short, number)
			if !regexp.MustCompile(pattern).Match(source) {
				t.Errorf("%s = %d has no constant", name, number)
			}
		}
	}
}

func TestEnumsPrintAsTelemetryCallsThem(t *testing.T) {
	for want, value := range map[string]fmt.Stringer{
		"scope_missing":       BypassScopeMissing,
		"sidecar_unreachable": BypassSidecarUnreachable,
		"none":                BypassReason(0),
		"unknown":             BypassReason(4711),
		"guard_number":        DenyGuardNumber,
		"invalid_tool_json":   RefusalInvalidToolJSON,
		"nothing_to_fill":     RefusalNothingToFill,
		"hit":                 OutcomeHit,
		"stored":              OutcomeStored,
		"normalized":          MatchNormalized,
		"gray":                ZoneGray,
		"stream":              ShapeStream,
		"read_only":           ModeReadOnly,
		"wrong":               VerdictWrong,
		"refused":             OutcomeRefused,
	} {
		if value.String() != want {
			t.Errorf("%d prints as %q, not %q", value, value, want)
		}
	}
}

func TestWhatANewerSidecarSendsReadsAsTheSafeCase(t *testing.T) {
	decision, failed := decodeDecision(&pb.Decision{
		Outcome: 99, Kind: 99, BypassReason: 99, DenyReason: 99, StoreAnswer: true, LeaseHolder: true,
		FillToken: []byte("token"), Candidate: &pb.Candidate{Zone: 99, Stream: 99, Body: &pb.Body{Data: []byte("x")}},
	}, false, nil)
	if failed != nil {
		t.Fatal(failed)
	}
	if decision.Hit() || decision.Outcome != OutcomeBypass || decision.Body() != nil {
		t.Error("an unknown outcome does not read as a bypass")
	}
	if decision.StoreAnswer || decision.LeaseHolder || decision.FillToken != nil {
		t.Error("an unknown outcome asks for a Store")
	}
	if decision.BypassReason != BypassUnknown || decision.DenyReason != DenyUnknown || decision.Kind != MatchUnknown {
		t.Errorf("unknown reasons read as %s %s %s", decision.BypassReason, decision.DenyReason, decision.Kind)
	}
	if decision.Candidate.Zone != ZoneUnknown || decision.Candidate.Stream != ShapeUnknown {
		t.Error("unknown zone and shape do not read as unknown")
	}
	stored := decodeStored(&pb.StoreResponse{Outcome: 99, RefusalReason: 0})
	if stored.Stored() || stored.RefusalReason != RefusalUnknown {
		t.Error("an unknown outcome of a Store does not read as a refusal")
	}
}

func TestAHitThatCannotBeServedIsAFaultOfTheSidecar(t *testing.T) {
	body := &pb.Candidate{Body: &pb.Body{Data: []byte("x")}}
	for name, message := range map[string]*pb.Decision{
		"without a candidate":    {Outcome: pb.Outcome_OUTCOME_HIT},
		"without a body":         {Outcome: pb.Outcome_OUTCOME_HIT, Candidate: &pb.Candidate{}},
		"of a rule that watches": {Outcome: pb.Outcome_OUTCOME_HIT, Candidate: body, Shadow: true},
	} {
		if _, failed := decodeDecision(message, false, nil); failed == nil || failed.Kind != ErrSidecarFailed {
			t.Errorf("a hit %s passes: %v", name, failed)
		}
	}
	shadow := &pb.Decision{Outcome: pb.Outcome_OUTCOME_MISS, Candidate: body, Shadow: true}
	if decision, failed := decodeDecision(shadow, false, nil); failed != nil || decision.Candidate.Body != nil {
		t.Error("the candidate of a miss must not carry a body")
	}
}
