package askonce_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	askonce "github.com/askonce/askonce/client/go"
	"github.com/askonce/askonce/client/go/askoncetest"
)

// crowd looks n requests up at once and returns their decisions.
func crowd(fake *askoncetest.Fake, n int, o ...askonce.LookupOption) []*askonce.Decision {
	decisions := make([]*askonce.Decision, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			decisions[i], _ = fake.Lookup(context.Background(), hello(fmt.Sprint(i)), o...)
		})
	}
	group.Wait()
	return decisions
}

// warm lets the client learn what rules there are, which takes two Lookups at once.
func warm(t *testing.T, fake *askoncetest.Fake) {
	t.Helper()
	fake.SetDelay(5 * time.Millisecond)
	for range 400 {
		before := len(fake.Calls())
		crowd(fake, 8)
		if slices.Contains(fake.Calls()[before:], "BatchLookup") {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("Lookups never go out together")
}

func count(calls []string, name string) int {
	return len(slices.DeleteFunc(slices.Clone(calls), func(call string) bool { return call != name }))
}

func TestLookupsThatArriveMeanwhileGoOutTogether(t *testing.T) {
	fake := patient()
	warm(t, fake)
	for i := range 100 {
		if _, err := fake.Store(context.Background(), hello(fmt.Sprint(i)), answerNumber(i)); err != nil {
			t.Fatal(err)
		}
	}
	fake.SetDelay(20 * time.Millisecond)
	before := len(fake.Calls())
	for i, decision := range crowd(fake, 100) {
		if !decision.Hit() || string(decision.Body()) != string(answerNumber(i).Body) || decision.SameAs != nil {
			t.Fatalf("%d: %+v", i, decision)
		}
	}
	calls := fake.Calls()[before:]
	if len(calls) > 20 || count(calls, "BatchLookup") == 0 {
		t.Fatalf("%d calls for 100 Lookups: %v", len(calls), calls)
	}
}

func answerNumber(i int) askonce.UpstreamResponse {
	answer := paris()
	answer.Body = fmt.Appendf(nil, `{"answer":%d}`, i)
	return answer
}

func TestALoneLookupGoesAlone(t *testing.T) {
	fake := patient()
	warm(t, fake)
	before := len(fake.Calls())
	for i := range 20 {
		look(t, fake.Client, hello(fmt.Sprint(i)))
	}
	if calls := fake.Calls()[before:]; count(calls, "Lookup") != 20 {
		t.Fatalf("%v", calls)
	}
}

func TestWhatMayWaitForAnEmbeddingGoesAlone(t *testing.T) {
	fake := patient()
	fake.SetRules(askonce.RuleSummary{ID: "default", Strategy: []askonce.MatchKind{askonce.MatchSemantic}})
	fake.SetDelay(5 * time.Millisecond)
	for range 20 {
		crowd(fake, 10)
	}
	if count(fake.Calls(), "BatchLookup") != 0 {
		t.Fatalf("%v", fake.Calls())
	}
}

func TestUnderMixedRulesOnlyTheKindsThatAreKnownNeverToWaitGather(t *testing.T) {
	fake := patient()
	fake.SetRules(
		askonce.RuleSummary{ID: "default", Strategy: []askonce.MatchKind{askonce.MatchExact}},
		askonce.RuleSummary{ID: "near", Strategy: []askonce.MatchKind{askonce.MatchSemantic}},
	)
	warm(t, fake)
	for range 10 {
		crowd(fake, 10)
	}
	batches := count(fake.Calls(), "BatchLookup")
	if batches == 0 {
		t.Fatal("the rule default is deterministic")
	}
	other := hello("x")
	other.Served.Model = "another"
	before := len(fake.Calls())
	var group sync.WaitGroup
	for range 2 { // a kind of request that was never seen: nobody knows its rule
		group.Go(func() { _, _ = fake.Lookup(context.Background(), other) })
	}
	group.Wait()
	if count(fake.Calls()[before:], "BatchLookup") != 0 {
		t.Fatal("a kind of request that was never seen was taken for deterministic")
	}
}

func TestWhatBelongsToOneCallGoesAlone(t *testing.T) {
	for name, ask := range map[string]func(*askoncetest.Fake){
		"coalescing is off":  func(f *askoncetest.Fake) { crowd(f, 20) },
		"waiting for others": func(f *askoncetest.Fake) { crowd(f, 20, askonce.WithWaitForFill(time.Second)) },
		"metadata": func(f *askoncetest.Fake) {
			ctx := metadata.AppendToOutgoingContext(context.Background(), "x-mine", "1")
			var group sync.WaitGroup
			for range 20 {
				group.Go(func() { _, _ = f.Lookup(ctx, hello("hi")) })
			}
			group.Wait()
		},
	} {
		fake := patient(askonce.WithCoalescing(name != "coalescing is off"))
		if name != "coalescing is off" {
			warm(t, fake)
		}
		fake.SetDelay(10 * time.Millisecond)
		before := len(fake.Calls())
		ask(fake)
		if calls := fake.Calls()[before:]; count(calls, "Lookup") != 20 {
			t.Errorf("%s: %v", name, calls)
		}
	}
}

func TestInABatchBudgetsAndCancellationStayEachCallersOwn(t *testing.T) {
	fake := patient()
	warm(t, fake)
	fake.SetDelay(1500 * time.Millisecond)
	var group sync.WaitGroup
	for i := range 8 { // these take the lane, and the batch behind it
		group.Go(func() { _, _ = fake.Lookup(context.Background(), hello(fmt.Sprint("slow", i))) })
	}
	time.Sleep(50 * time.Millisecond)
	began := time.Now()
	group.Go(func() {
		decision, _ := fake.Lookup(context.Background(), hello("hasty"), askonce.WithBudgetOf(20*time.Millisecond))
		if decision.BypassReason != askonce.BypassSidecarTimeout || time.Since(began) > 1200*time.Millisecond {
			t.Errorf("%s after %s", decision.BypassReason, time.Since(began))
		}
	})
	group.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		decision, _ := fake.Lookup(ctx, hello("gone"))
		if decision.BypassReason != askonce.BypassCallerGone || time.Since(began) > 1200*time.Millisecond {
			t.Errorf("%s after %s", decision.BypassReason, time.Since(began))
		}
	})
	group.Go(func() {
		if decision, _ := fake.Lookup(context.Background(), hello("patient")); decision.Err != nil {
			t.Errorf("%+v", decision)
		}
	})
	group.Wait()
	if fake.BreakerState() != askonce.BreakerClosed {
		t.Error("callers that gave up opened the breaker")
	}
}

func TestABatchThatFailsIsOneFailureAndABypassForEach(t *testing.T) {
	fake := patient()
	warm(t, fake)
	fake.SetDelay(20 * time.Millisecond)
	for range 3 {
		fake.WillFail(codes.Unavailable, "programmed")
	}
	failed := 0
	for _, decision := range crowd(fake, 60) {
		if decision.BypassReason == askonce.BypassSidecarUnreachable {
			failed++
		}
	}
	if failed < 10 || fake.BreakerState() != askonce.BreakerClosed {
		t.Fatalf("%d bypasses, breaker %s", failed, fake.BreakerState())
	}
}

func TestABatchStaysBelowAMebibyteAnd256Items(t *testing.T) {
	fake := patient()
	warm(t, fake)
	fake.SetDelay(100 * time.Millisecond)
	before := len(fake.Lookups())
	var group sync.WaitGroup
	for i := range 600 {
		group.Go(func() { _, _ = fake.Lookup(context.Background(), hello(fmt.Sprint(i))) })
	}
	for i := range 10 {
		text := strings.Repeat("x", 400<<10) + fmt.Sprint(i)
		group.Go(func() { _, _ = fake.Lookup(context.Background(), hello(text)) })
	}
	group.Wait()
	if answered := len(fake.Lookups()) - before; answered != 610 {
		t.Fatalf("%d of 610", answered)
	}
	for _, batch := range fake.Batches() {
		if batch.Items > 256 || batch.Items > 1 && batch.Bytes > 1<<20 {
			t.Errorf("a batch of %d items and %d bytes", batch.Items, batch.Bytes)
		}
	}
}

func TestACallerMayChangeItsBodyOnceItHasItsDecision(t *testing.T) {
	fake := patient()
	warm(t, fake)
	fake.SetDelay(5 * time.Millisecond)
	var group sync.WaitGroup
	for i := range 50 {
		group.Go(func() {
			body := fmt.Appendf(nil, `{"temperature":0,"messages":[%d]}`, i)
			ctx, cancel := context.WithTimeout(context.Background(), 3*time.Millisecond)
			defer cancel()
			_, _ = fake.Lookup(ctx, askonce.OpenAIChat(body, gpt4o, acme))
			clear(body) // the race detector sees a batch that still reads it
		})
	}
	group.Wait()
}
