package askonce_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	askonce "github.com/askonce/askonce/client/go"
	"github.com/askonce/askonce/client/go/askoncetest"
	pb "github.com/askonce/askonce/client/go/gen/askonce/v1"
)

var (
	gpt4o = askonce.Target{Provider: "openai", Model: "gpt-4o"}
	acme  = askonce.Scope{"tenant": "acme"}
	quiet = askonce.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))
)

func hello(text string) askonce.Descriptor {
	body := `{"model":"gpt-4o","temperature":0,"messages":[{"role":"user","content":"` + text + `"}]}`
	return askonce.OpenAIChat([]byte(body), gpt4o, acme)
}

func paris() askonce.UpstreamResponse {
	body := `{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"Paris."}}],
	          "usage":{"prompt_tokens":7,"completion_tokens":2}}`
	return askonce.FromOpenAIChat(200, []byte(body))
}

func look(t *testing.T, client *askonce.Client, d askonce.Descriptor, o ...askonce.LookupOption) *askonce.Decision {
	t.Helper()
	decision, err := client.Lookup(context.Background(), d, o...)
	if err != nil {
		t.Fatal(err)
	}
	return decision
}

func TestAMissIsStoredAndTheNextLookupHits(t *testing.T) {
	fake := askoncetest.New()
	missed := look(t, fake.Client, hello("hi"))
	if missed.Hit() || missed.Outcome != askonce.OutcomeMiss || !missed.StoreAnswer {
		t.Fatalf("%+v", missed)
	}
	stored, err := fake.Store(context.Background(), missed, paris())
	if err != nil || !stored.Stored() || len(stored.Entries) != 1 {
		t.Fatalf("%+v %v", stored, err)
	}
	hit := look(t, fake.Client, hello("hi"))
	if !hit.Hit() || !bytes.Equal(hit.Body(), paris().Body) || hit.ContentType() != "application/json" {
		t.Fatalf("%+v", hit)
	}
	if hit.Candidate.EntryID != stored.Entries[0].EntryID || *hit.Candidate.Usage != (askonce.Usage{7, 2}) {
		t.Fatalf("%+v", hit.Candidate)
	}
	if recorded, _ := fake.Feedback(context.Background(), hit, askonce.VerdictCorrect, "user"); !recorded.Recorded {
		t.Fatal("the feedback was not recorded")
	}
}

func TestEveryFieldTravels(t *testing.T) {
	fake := askoncetest.New(askonce.WithBudget(2 * time.Second))
	yes, age := true, time.Minute
	descriptor := askonce.Descriptor{
		Dialect: "openai", Endpoint: "chat", Served: gpt4o, Requested: askonce.Target{Provider: "any", Model: "smart"},
		RouteID: "r", RouteVersion: "3", RuleBranch: "b", Stream: &yes, Scope: acme, Personalized: true,
		Versions: map[string]string{"guardrail": "2"}, Headers: map[string]string{"anthropic-beta": "x"},
		Attributes: map[string]string{"app": "support"},
		Embedding:  &askonce.Embedding{Embedder: "mine", Values: []float32{1, -0.5}},
		Content: askonce.Parts{
			Messages: []byte(`["m"]`), System: []byte(`"s"`), Tools: []byte(`["t"]`), Params: []byte(`{"p":1}`),
		},
	}
	look(t, fake.Client, descriptor,
		askonce.WithControls(askonce.Controls{
			Mode: askonce.ModeReadOnly, TTL: time.Hour, Namespace: "n", MaxAge: &age, MinFresh: time.Second,
			MaxStale: 2 * time.Second, LoggingDisabled: true,
		}),
		askonce.WithBudgetOf(time.Second), askonce.WithWaitForFill(3*time.Second), askonce.WithRequestID("id"),
		askonce.WithAccepts(askonce.ShapeStream, askonce.ShapeJSON), askonce.WithoutBody(), askonce.WithTrace(),
		askonce.WithAnchor(), askonce.AfterUpstreamError(),
	)
	sent := fake.Lookups()[0]
	if sent.GetBudget().AsDuration() != 4*time.Second { // waiting comes on top of the budget
		t.Errorf("budget %s", sent.GetBudget().AsDuration())
	}
	values := sent.GetDescriptor_().GetEmbedding().GetValues()
	if !bytes.Equal(values, []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0xbf}) {
		t.Errorf("vectors travel as float32 little endian, not %x", values)
	}
	assertAllSet(t, sent.ProtoReflect(), "body_json", "digests")
}

func TestDigestsTravel(t *testing.T) {
	fake := askoncetest.New()
	no := false
	descriptor := hello("")
	descriptor.Content = askonce.Digests{
		ExactSHA256: make([]byte, 32), NormalizedSHA256: make([]byte, 32), Canonicalization: "mine",
		CanonicalizationVersion: "1",
		Facts:                   askonce.DigestFacts{Sampling: &no, RemoteContent: &no, Stateful: &no, Personalized: &no},
	}
	look(t, fake.Client, descriptor)
	assertAllSet(t, fake.Lookups()[0].GetDescriptor_().GetDigests().ProtoReflect())
}

func TestEveryFieldOfAStoreTravels(t *testing.T) {
	fake := askoncetest.New()
	yes, cost := true, 0.5
	response := askonce.UpstreamResponse{
		Body: []byte("x"), ContentType: "text/plain", StatusCode: 200, FinishReasons: []string{"stop"},
		StreamComplete: true, Usage: &askonce.Usage{InputTokens: 1, OutputTokens: 2}, CostUSD: &cost,
		ContainsToolCalls: true, Refused: true, OutputGuardrailModified: true, GuardrailFailedOpen: true,
		Cacheable: &yes, Served: gpt4o, FallbackUsed: true, SourceRequestID: "id", RequestStartTime: time.Now(),
	}
	stored, err := fake.Store(context.Background(), hello("hi"), response,
		askonce.WithTTL(time.Hour), askonce.WithNamespace("n"), askonce.WithoutLogging())
	if err != nil || stored.RefusalReason != askonce.RefusalLoggingDisabled {
		t.Fatalf("%+v %v", stored, err)
	}
	sent := fake.Stores()[0]
	assertAllSet(t, sent.GetResponse().ProtoReflect())
	if sent.GetTtl().AsDuration() != time.Hour || sent.GetNamespace() != "n" || sent.GetDescriptor_() == nil {
		t.Fatalf("%v", sent)
	}
}

func TestADecisionThatAsksForNoStoreCostsNoCall(t *testing.T) {
	fake := askoncetest.New()
	bypassed := look(t, fake.Client, askonce.OpenAIChat([]byte(`{}`), gpt4o, nil))
	if bypassed.BypassReason != askonce.BypassScopeMissing {
		t.Fatalf("%+v", bypassed)
	}
	stored, err := fake.Store(context.Background(), bypassed, paris())
	if err != nil || stored.RefusalReason != askonce.RefusalNothingToFill || len(fake.Stores()) != 0 {
		t.Fatalf("%+v %v", stored, err)
	}
	if abandoned, err := fake.Abandon(context.Background(), bypassed); err != nil || abandoned.Released {
		t.Fatalf("%+v %v", abandoned, err)
	}
	if len(fake.Abandons()) != 0 {
		t.Fatal("there was no lease to give back")
	}
}

func TestALeaseIsGivenBackAlsoWhenTheCallerHasGone(t *testing.T) {
	fake := askoncetest.New()
	fake.WillDecide(&pb.Decision{Outcome: pb.Outcome_OUTCOME_MISS, LeaseHolder: true})
	held := look(t, fake.Client, hello("hi"))
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	abandoned, err := fake.Abandon(gone, held)
	if err != nil || !abandoned.Released || len(fake.Abandons()) != 1 {
		t.Fatalf("%+v %v", abandoned, err)
	}
}

func TestASidecarWithoutLeasesIsNoError(t *testing.T) {
	fake := askoncetest.New(askonce.WithStrict())
	fake.WillFail(codes.Unimplemented, "Abandon is not part of this version")
	abandoned, err := fake.Abandon(context.Background(), askonce.FillToken("token"))
	if err != nil || abandoned.Err != nil || abandoned.Released {
		t.Fatalf("%+v %v", abandoned, err)
	}
}

var failures = []struct {
	code   codes.Code
	bypass askonce.BypassReason
	kind   error
}{
	{codes.Unavailable, askonce.BypassSidecarUnreachable, askonce.ErrUnreachable},
	{codes.DeadlineExceeded, askonce.BypassSidecarTimeout, askonce.ErrBudgetExceeded},
	{codes.Internal, askonce.BypassSidecarFailed, askonce.ErrSidecarFailed},
	{codes.Unknown, askonce.BypassSidecarFailed, askonce.ErrSidecarFailed},
	{codes.InvalidArgument, askonce.BypassRequestRefused, askonce.ErrInvalidRequest},
	{codes.InvalidArgument, askonce.BypassRequestRefused, askonce.ErrCallRefused},
	{codes.ResourceExhausted, askonce.BypassRequestRefused, askonce.ErrTooLarge},
	{codes.PermissionDenied, askonce.BypassRequestRefused, askonce.ErrCallRefused},
	{codes.Unimplemented, askonce.BypassRequestRefused, askonce.ErrCallRefused},
}

func TestWhateverFailsIsABypassThatCarriesTheError(t *testing.T) {
	for _, failure := range failures {
		fake := askoncetest.New(quiet)
		fake.WillFail(failure.code, "programmed")
		decision, err := fake.Lookup(context.Background(), hello("hi"))
		if err != nil {
			t.Errorf("%s: the error is returned although the client is not strict", failure.code)
		}
		if decision.Outcome != askonce.OutcomeBypass || decision.BypassReason != failure.bypass {
			t.Errorf("%s: %s %s", failure.code, decision.Outcome, decision.BypassReason)
		}
		var detailed *askonce.Error
		if !errors.Is(decision.Err, failure.kind) || !errors.As(decision.Err, &detailed) || detailed.Code == "" {
			t.Errorf("%s: %v", failure.code, decision.Err)
		}
		if decision.Hit() || decision.StoreAnswer || !strings.HasPrefix(decision.CacheStatus, "askonce; fwd=bypass") {
			t.Errorf("%s: %+v", failure.code, decision)
		}
		fake.WillFail(failure.code, "programmed")
		stored, err := fake.Store(context.Background(), hello("hi"), paris())
		if err != nil || stored.Stored() || int32(stored.RefusalReason) != int32(failure.bypass) || stored.Err == nil {
			t.Errorf("%s: %+v %v", failure.code, stored, err)
		}
	}
}

func TestAStrictClientReturnsTheErrorBesideTheBypass(t *testing.T) {
	for _, failure := range failures {
		fake := askoncetest.New(askonce.WithStrict(), quiet)
		fake.WillFail(failure.code, "programmed")
		decision, err := fake.Lookup(context.Background(), hello("hi"))
		if !errors.Is(err, failure.kind) || decision.BypassReason != failure.bypass {
			t.Errorf("%s: %+v %v", failure.code, decision, err)
		}
	}
}

func TestTheBudgetBoundsALookup(t *testing.T) {
	fake := askoncetest.New(askonce.WithBudget(10 * time.Millisecond))
	fake.SetDelay(10 * time.Second)
	began := time.Now()
	decision := look(t, fake.Client, hello("hi"))
	if decision.BypassReason != askonce.BypassSidecarTimeout {
		t.Fatalf("%+v", decision)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Fatalf("it took %s", took)
	}
}

func TestACallerThatGoesSaysNothingOfTheSidecar(t *testing.T) {
	fake := askoncetest.New()
	fake.SetDelay(10 * time.Second)
	for range 20 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		decision, err := fake.Lookup(ctx, hello("hi"))
		cancel()
		if err != nil || decision.BypassReason != askonce.BypassCallerGone || !errors.Is(decision.Err, askonce.ErrCallerGone) {
			t.Fatalf("%+v %v", decision, err)
		}
	}
	if fake.BreakerState() != askonce.BreakerClosed {
		t.Fatal("callers that went opened the breaker")
	}
}

func TestTheBreakerSparesASidecarThatFails(t *testing.T) {
	fake := askoncetest.New(quiet)
	for range 5 {
		fake.WillFail(codes.Unavailable, "programmed")
		look(t, fake.Client, hello("hi"))
	}
	if decision := look(t, fake.Client, hello("hi")); decision.BypassReason != askonce.BypassCircuitOpen {
		t.Fatalf("%+v", decision)
	}
	if fake.BreakerState() != askonce.BreakerOpen || len(fake.Calls()) != 5 {
		t.Fatalf("%s after %d calls", fake.BreakerState(), len(fake.Calls()))
	}
}

func TestRefusalsDoNotOpenTheBreaker(t *testing.T) {
	fake := askoncetest.New(quiet)
	for range 20 {
		fake.WillFail(codes.InvalidArgument, "programmed")
		look(t, fake.Client, hello("hi"))
	}
	if fake.BreakerState() != askonce.BreakerClosed {
		t.Fatal("a sidecar that refuses is there")
	}
}

func TestAClosedClientBypasses(t *testing.T) {
	fake := askoncetest.New(quiet)
	if err := errors.Join(fake.Close(), fake.Close()); err != nil {
		t.Fatal(err)
	}
	if decision := look(t, fake.Client, hello("hi")); decision.BypassReason != askonce.BypassClientClosed {
		t.Fatalf("%+v", decision)
	}
}

func TestTextThatIsNoUTF8IsRefusedByItsPathAndNotQuoted(t *testing.T) {
	fake := askoncetest.New(askonce.WithStrict(), quiet)
	descriptor := hello("hi")
	descriptor.Scope = askonce.Scope{"tenant": "secret\xff"}
	_, err := fake.Lookup(context.Background(), descriptor)
	var failed *askonce.Error
	if !errors.As(err, &failed) || !errors.Is(err, askonce.ErrInvalidRequest) {
		t.Fatal(err)
	}
	if failed.Violations[0].Field != "descriptor.scope" || strings.Contains(err.Error(), "secret") {
		t.Fatal(err)
	}
	if len(fake.Calls()) != 0 {
		t.Fatal("it was sent all the same")
	}
}

func TestEachKindOfMistakeIsLoggedOnceWithoutWhatWasSent(t *testing.T) {
	var lines bytes.Buffer
	fake := askoncetest.New(askonce.WithLogger(slog.New(slog.NewTextHandler(&lines, nil))))
	for range 50 {
		fake.WillFail(codes.InvalidArgument, "the prompt: secret")
		look(t, fake.Client, hello("secret"))
		fake.WillFail(codes.Unavailable, "programmed")
		look(t, fake.Client, hello("secret"))
	}
	if logged := lines.String(); strings.Count(logged, "\n") != 1 || strings.Contains(logged, "secret") {
		t.Fatal(logged)
	}
}

func TestClientsThatCannotWorkAreNotMade(t *testing.T) {
	for name, made := range map[string]func() (*askonce.Client, error){
		"no target":  func() (*askonce.Client, error) { return askonce.New("") },
		"no channel": func() (*askonce.Client, error) { return askonce.New("localhost:1", askonce.WithChannels(0)) },
		"no budget":  func() (*askonce.Client, error) { return askonce.New("localhost:1", askonce.WithBudget(0)) },
	} {
		if _, err := made(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestABatchKeepsItsOrderAndEachItemItsOwnFailure(t *testing.T) {
	fake := askoncetest.New(quiet)
	if _, err := fake.Store(context.Background(), hello("known"), paris()); err != nil {
		t.Fatal(err)
	}
	spoilt := hello("x")
	spoilt.Dialect = "\xff"
	decisions, err := fake.BatchLookup(context.Background(), []askonce.LookupRequest{
		{Descriptor: hello("new")}, {Descriptor: spoilt}, {Descriptor: hello("known")}, {Descriptor: hello("known")},
		{Descriptor: hello("new")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !decisions[0].StoreAnswer || decisions[1].BypassReason != askonce.BypassRequestRefused {
		t.Fatalf("%+v %+v", decisions[0], decisions[1])
	}
	if !decisions[2].Hit() || !decisions[3].Hit() || string(decisions[3].Body()) != string(paris().Body) {
		t.Fatal("a twin has the body of its first")
	}
	if *decisions[3].SameAs != 2 || *decisions[4].SameAs != 0 || decisions[4].StoreAnswer {
		t.Fatalf("%+v %+v", decisions[3], decisions[4])
	}
}

func TestABatchOfNothingCostsNoCall(t *testing.T) {
	fake := askoncetest.New()
	decisions, err := fake.BatchLookup(context.Background(), nil)
	results, storeErr := fake.BatchStore(context.Background(), []askonce.StoreRequest{{Source: &askonce.Decision{}}})
	if err != nil || storeErr != nil || len(decisions) != 0 || len(fake.Calls()) != 0 {
		t.Fatalf("%v %v %v", decisions, err, storeErr)
	}
	if results[0].RefusalReason != askonce.RefusalNothingToFill {
		t.Fatalf("%+v", results[0])
	}
}

func TestABatchThatFailsFailsOpenForEveryItem(t *testing.T) {
	fake := askoncetest.New()
	fake.WillFail(codes.Unavailable, "programmed")
	requests := []askonce.LookupRequest{{Descriptor: hello("a")}, {Descriptor: hello("b")}}
	decisions, err := fake.BatchLookup(context.Background(), requests)
	if err != nil {
		t.Fatal(err)
	}
	for _, decision := range decisions {
		if decision.BypassReason != askonce.BypassSidecarUnreachable {
			t.Fatalf("%+v", decision)
		}
	}
}

func TestABatchStoreKeepsItsOrder(t *testing.T) {
	fake := askoncetest.New(quiet)
	empty := paris()
	empty.Body = nil
	results, err := fake.BatchStore(context.Background(), []askonce.StoreRequest{
		{Source: hello("a"), Response: paris()},
		{Source: &askonce.Decision{}, Response: paris()},
		{Source: hello("b"), Response: empty},
		{Source: askonce.FillToken("unknown"), Response: paris()},
	})
	if err != nil || !results[0].Stored() {
		t.Fatalf("%+v %v", results[0], err)
	}
	for index, want := range map[int]askonce.RefusalReason{
		1: askonce.RefusalNothingToFill, 2: askonce.RefusalEmpty, 3: askonce.RefusalTokenExpired,
	} {
		if results[index].RefusalReason != want {
			t.Errorf("%d: %s", index, results[index].RefusalReason)
		}
	}
}

func TestServerInfoSaysWhichRulesNeverWait(t *testing.T) {
	fake := askoncetest.New(quiet)
	fake.SetRules(
		askonce.RuleSummary{ID: "plain", Strategy: []askonce.MatchKind{askonce.MatchExact}, TTL: time.Hour},
		askonce.RuleSummary{ID: "near", Strategy: []askonce.MatchKind{askonce.MatchExact, askonce.MatchSemantic}},
		askonce.RuleSummary{ID: "newer", Strategy: []askonce.MatchKind{99}},
	)
	info, err := fake.ServerInfo(context.Background())
	if err != nil || info.KeySchema != "askonce/1" || !info.StoreServing || info.Rules[0].TTL != time.Hour {
		t.Fatalf("%+v %v", info, err)
	}
	for index, want := range []bool{true, false, false} {
		if info.Rules[index].Deterministic() != want {
			t.Errorf("%s: %t", info.Rules[index].ID, !want)
		}
	}
	_ = fake.Close()
	if info, err = fake.ServerInfo(context.Background()); !errors.Is(err, askonce.ErrClosed) || info != nil {
		t.Fatal("there is nothing to fail open to")
	}
}
