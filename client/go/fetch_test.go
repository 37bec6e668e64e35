package askonce_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	askonce "github.com/askonce/askonce/client/go"
	"github.com/askonce/askonce/client/go/askoncetest"
	pb "github.com/askonce/askonce/client/go/gen/askonce/v1"
)

// provider counts its calls, which take until release is closed.
type provider struct {
	calls   atomic.Int64
	release chan struct{}
	begun   chan struct{}
	answer  func(call int64) (askonce.UpstreamResponse, error)
}

func newProvider(answer func(call int64) (askonce.UpstreamResponse, error)) *provider {
	return &provider{release: make(chan struct{}), begun: make(chan struct{}, 1000), answer: answer}
}

func (p *provider) fill(ctx context.Context) (askonce.UpstreamResponse, error) {
	call := p.calls.Add(1)
	p.begun <- struct{}{}
	select {
	case <-p.release:
	case <-ctx.Done():
		return askonce.UpstreamResponse{}, ctx.Err()
	}
	return p.answer(call)
}

func always(int64) (askonce.UpstreamResponse, error) { return paris(), nil }

// patient is a fake whose Lookups have time, so that a slow machine does not look like a slow sidecar.
func patient(options ...askonce.Option) *askoncetest.Fake {
	return askoncetest.New(append(options, quiet, askonce.WithBudget(30*time.Second))...)
}

// fetchAll fetches the same request for n callers at once; release is called when the provider has been asked.
func fetchAll(
	t *testing.T, fake *askoncetest.Fake, n int, p *provider, o ...askonce.LookupOption,
) ([]*askonce.Fetched, []error) {
	t.Helper()
	results, failures := make([]*askonce.Fetched, n), make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			results[i], failures[i] = fake.Fetch(context.Background(), hello("hi"), p.fill, o...)
		})
	}
	<-p.begun
	time.Sleep(50 * time.Millisecond) // the others arrive while the first is filling
	close(p.release)
	group.Wait()
	return results, failures
}

func TestFetchFillsOnceAndServesFromThenOn(t *testing.T) {
	fake, p := patient(), newProvider(always)
	close(p.release)
	for call := range 3 {
		got, err := fake.Fetch(context.Background(), hello("hi"), p.fill, askonce.WithoutBody())
		if err != nil || string(got.Body) != string(paris().Body) || got.StatusCode != 200 {
			t.Fatalf("%+v %v", got, err)
		}
		if hit := got.Decision.Hit(); hit != (call > 0) {
			t.Fatalf("call %d: %+v", call, got)
		}
	}
	if p.calls.Load() != 1 {
		t.Fatalf("the provider was called %d times", p.calls.Load())
	}
}

func TestAHundredCallersWithOneRequestCallTheProviderOnce(t *testing.T) {
	fake, p := patient(), newProvider(always)
	results, failures := fetchAll(t, fake, 100, p)
	hits := 0
	for i, got := range results {
		if failures[i] != nil || string(got.Body) != string(paris().Body) {
			t.Fatalf("%+v %v", got, failures[i])
		}
		if got.Decision.Hit() {
			hits++
		}
	}
	if p.calls.Load() != 1 || hits != 99 {
		t.Fatalf("the provider was called %d times, %d hits", p.calls.Load(), hits)
	}
	if asked := len(fake.Calls()); asked != 2 { // a Lookup and a Store
		t.Fatalf("%d calls for 100 requests: %v", asked, fake.Calls())
	}
	again := look(t, fake.Client, hello("hi"))
	for _, got := range results {
		if d := got.Decision; d.Hit() && (!d.Collapsed || d.Candidate.EntryID != again.Candidate.EntryID ||
			d.Kind != askonce.MatchExact || *d.Candidate.Usage != *again.Candidate.Usage ||
			d.CacheStatus != "askonce; fwd=miss; collapsed" || d.Candidate.Stream != askonce.ShapeJSON) {
			t.Fatalf("%+v %+v", d, d.Candidate)
		}
	}
}

func TestWhenTheFirstFailsOneOfThoseWhoWaitedIsNext(t *testing.T) {
	broken := errors.New("connection reset")
	fake, p := patient(), newProvider(func(call int64) (askonce.UpstreamResponse, error) {
		if call == 1 {
			return askonce.UpstreamResponse{}, broken
		}
		return paris(), nil
	})
	_, failures := fetchAll(t, fake, 50, p)
	failed := 0
	for _, err := range failures {
		if err != nil {
			failed++
		}
	}
	if failed != 1 || p.calls.Load() != 2 {
		t.Fatalf("%d callers failed, the provider was called %d times", failed, p.calls.Load())
	}
}

func TestAProviderThatIsDownIsNotAskedByOneCallerAtATime(t *testing.T) {
	broken := errors.New("connection refused")
	fake, p := patient(), newProvider(func(int64) (askonce.UpstreamResponse, error) {
		return askonce.UpstreamResponse{}, broken
	})
	_, failures := fetchAll(t, fake, 50, p)
	for _, err := range failures {
		if !errors.Is(err, broken) {
			t.Fatal(err)
		}
	}
}

func TestAnAnswerThatIsNotStoredIsNotWaitedForAgain(t *testing.T) {
	fake, p := patient(), newProvider(func(int64) (askonce.UpstreamResponse, error) {
		return askonce.FromOpenAIChat(500, []byte(`{"error":{}}`)), nil
	})
	results, failures := fetchAll(t, fake, 20, p)
	for i, got := range results {
		if failures[i] != nil || got.StatusCode != 500 || got.Decision.Hit() {
			t.Fatalf("%+v %v", got, failures[i])
		}
	}
	if p.calls.Load() != 20 {
		t.Fatalf("the provider was called %d times: an error belongs to its own caller", p.calls.Load())
	}
}

func TestWhatMayNotBeStoredIsNotShared(t *testing.T) {
	fake, p := patient(), newProvider(always)
	for range 20 {
		fake.WillBypass(askonce.BypassSampledRequest)
	}
	fetchAll(t, fake, 20, p)
	if p.calls.Load() != 20 {
		t.Fatalf("the provider was called %d times for 20 sampled requests", p.calls.Load())
	}
}

func TestARefreshIsNotAnsweredByWhatAnotherBrought(t *testing.T) {
	fake, p := patient(), newProvider(always)
	fetchAll(t, fake, 5, p, askonce.WithControls(askonce.Controls{Mode: askonce.ModeRefresh}))
	if p.calls.Load() != 5 {
		t.Fatalf("the provider was called %d times for 5 refreshes", p.calls.Load())
	}
}

func TestACallerThatGoesInTheMiddleLeavesNoLeaseAndTheNextOneFills(t *testing.T) {
	fake, p := patient(), newProvider(always)
	fake.WillDecide(&pb.Decision{Outcome: pb.Outcome_OUTCOME_MISS, LeaseHolder: true})
	ctx, cancel := context.WithCancel(context.Background())
	gone := make(chan error)
	go func() {
		_, err := fake.Fetch(ctx, hello("hi"), p.fill)
		gone <- err
	}()
	<-p.begun
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if len(fake.Abandons()) != 1 || len(fake.Stores()) != 0 {
		t.Fatalf("%d abandons, %d stores", len(fake.Abandons()), len(fake.Stores()))
	}
	close(p.release)
	got, err := fake.Fetch(context.Background(), hello("hi"), p.fill)
	if err != nil || got.Decision.Hit() {
		t.Fatalf("%+v %v", got, err)
	}
	if got, err = fake.Fetch(context.Background(), hello("hi"), p.fill); err != nil || !got.Decision.Hit() {
		t.Fatalf("%+v %v", got, err)
	}
}

func TestAFillThatPanicsLeavesNobodyWaiting(t *testing.T) {
	fake, p := patient(), newProvider(always)
	func() {
		defer func() { _ = recover() }()
		_, _ = fake.Fetch(context.Background(), hello("hi"), func(context.Context) (askonce.UpstreamResponse, error) {
			panic("a bug of the gateway")
		})
	}()
	close(p.release)
	for call := range 2 {
		got, err := fake.Fetch(context.Background(), hello("hi"), p.fill)
		if err != nil || got.Decision.Hit() != (call > 0) {
			t.Fatalf("%+v %v", got, err)
		}
	}
}

func TestAnOutageIsNoErrorOfFetch(t *testing.T) {
	fake, p := patient(), newProvider(always)
	close(p.release)
	fake.WillFail(codes.Unavailable, "programmed")
	got, err := fake.Fetch(context.Background(), hello("hi"), p.fill)
	if err != nil || got.StatusCode != 200 || p.calls.Load() != 1 || len(fake.Stores()) != 0 {
		t.Fatalf("%+v %v", got, err)
	}
}

func TestAnAnswerIsNotHeldUpByItsStore(t *testing.T) {
	fake, p := patient(), newProvider(always)
	close(p.release)
	claim, err := fake.Claim(context.Background(), hello("hi"))
	if err != nil {
		t.Fatal(err)
	}
	fake.SetDelay(500 * time.Millisecond)
	began := time.Now()
	claim.StoreAsync(context.Background(), paris())
	claim.Abandon(context.Background()) // as a deferred one would: it has no say any more
	if took := time.Since(began); took > 400*time.Millisecond {
		t.Fatalf("it took %s", took)
	}
	got, err := fake.Fetch(context.Background(), hello("hi"), p.fill) // comes while it is being stored
	if err != nil || !got.Decision.Collapsed || p.calls.Load() != 0 {
		t.Fatalf("%+v %v", got, err)
	}
	stored, err := claim.Store(context.Background(), paris())
	if err != nil || stored.RefusalReason != askonce.RefusalNothingToFill {
		t.Fatalf("a claim is stored once: %+v %v", stored, err)
	}
}

func TestHowLongToWaitForOthersTravelsAndBoundsTheWaitHere(t *testing.T) {
	fake, p := patient(), newProvider(always)
	wait := askonce.WithWaitForFill(30 * time.Millisecond)
	go func() { _, _ = fake.Fetch(context.Background(), hello("hi"), p.fill, wait) }()
	<-p.begun
	go func() { _, _ = fake.Fetch(context.Background(), hello("hi"), p.fill, wait) }()
	<-p.begun // the second caller has waited long enough and fills by itself
	close(p.release)
	for _, lookup := range fake.Lookups() {
		if lookup.GetWaitForFill().AsDuration() != 30*time.Millisecond {
			t.Fatalf("%v", lookup)
		}
	}
}

func TestWhoComesAfterAnAnswerThatWasNotStoredIsWaitedForInTurn(t *testing.T) {
	fake, ctx := patient(), context.Background()
	first, err := fake.Claim(ctx, hello("hi"))
	if err != nil {
		t.Fatal(err)
	}
	claims := make(chan *askonce.Claim)
	go func() {
		claim, _ := fake.Claim(ctx, hello("hi"))
		claims <- claim
	}()
	time.Sleep(50 * time.Millisecond) // it waits for the first, or comes when that is over
	if stored, _ := first.Store(ctx, askonce.UpstreamResponse{StatusCode: 500}); stored.Stored() {
		t.Fatalf("%+v", stored)
	}
	second := <-claims
	fake.SetDelay(200 * time.Millisecond)
	second.StoreAsync(ctx, paris())
	third, err := fake.Claim(ctx, hello("hi"))
	if err != nil || !third.Decision.Collapsed {
		t.Fatalf("%+v %v", third.Decision, err)
	}
}
