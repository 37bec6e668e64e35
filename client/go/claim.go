package askonce

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/askonce/askonce/client/go/streams"
)

const (
	// longestFill is how long callers in one process wait for another's answer, if they do not say: as long as a
	// lease of the sidecar lasts by default.
	longestFill = time.Minute
	// mostWaits is for how many others, one after the other, a caller waits. When two in a row have failed, whoever
	// waits goes on alone: else a provider that is down would be asked by one at a time.
	mostWaits = 2
)

// Claim is a Lookup with the duty that may follow from it: one caller of this process fills a miss while others with
// the same request wait. Call Store or StoreAsync when the provider has answered, and Abandon, best deferred, in every
// case. A claim is for one goroutine.
type Claim struct {
	// Decision says what to do. Never nil.
	Decision *Decision

	client *Client
	fill   *fill // nil: nobody in this process waits for this claim
	done   bool  // stored, or given back
}

// Claim looks a request up like Lookup does. Callers of one process with identical requests come after one another:
// while one of them fills a miss the others wait, and are given the answer that it stored: a hit that is Collapsed.
func (c *Client) Claim(
	ctx context.Context, descriptor Descriptor, options ...LookupOption,
) (*Claim, error) {
	request := LookupRequest{Descriptor: descriptor}
	for _, option := range options {
		option(&request)
	}
	key, shareable := keyOfFill(&request)
	deadline := time.Now().Add(c.budgetOf(&request))
	for waits, again := 0, shareable; again && waits < mostWaits; waits++ {
		mine, others := c.fills.begin(key)
		if mine != nil {
			return c.lead(ctx, &request, mine)
		}
		how := others.wait(ctx, &request, time.Until(deadline))
		if how == fillStored {
			return &Claim{Decision: others.collapsed(), client: c}, nil
		}
		again = how == fillAbandoned // then one of those who wait comes next
		if how != fillUndecided {
			deadline = time.Now().Add(c.budgetOf(&request))
		}
	}
	request.Budget = max(time.Until(deadline), 1)
	if shareable { // who has waited enough does not wait for the next one either, but later callers may wait for it
		if mine, _ := c.fills.begin(key); mine != nil {
			return c.lead(ctx, &request, mine)
		}
	}
	decision, err := c.lookup(ctx, &request)
	return &Claim{Decision: decision, client: c}, err
}

// lead looks up for all; unless an answer is to be stored, nobody has to wait any longer.
func (c *Client) lead(ctx context.Context, r *LookupRequest, mine *fill) (*Claim, error) {
	claim := &Claim{client: c, fill: mine, Decision: &Decision{}}
	defer func() { // also when something in the Lookup panics
		if claim.Decision.Outcome == OutcomeMiss && claim.Decision.StoreAnswer {
			close(mine.decided)
		} else {
			claim.end(fillOver)
		}
	}()
	decision, err := c.lookup(ctx, r)
	claim.Decision = decision
	return claim, err
}

// Store files the answer under what was looked up, like the client's Store, and lets go of those who wait. It is made
// even when ctx is cancelled: the answer is there, whether or not its caller is.
func (c *Claim) Store(
	ctx context.Context, response UpstreamResponse, options ...StoreOption,
) (*StoreResult, error) {
	if c.done {
		return nothingToFill(), nil
	}
	c.done = true
	return c.store(context.WithoutCancel(ctx), response, options)
}

// StoreAsync is Store for a caller that does not wait for the outcome: an answer that has been handed on in whole is
// not held up by the cache. It returns at once, and the claim is no longer the caller's. What it does ends within the
// store timeout; an answer that is not stored by the time the program ends is lost.
func (c *Claim) StoreAsync(ctx context.Context, response UpstreamResponse, options ...StoreOption) {
	if c.done {
		return
	}
	c.done = true
	ctx = context.WithoutCancel(ctx)
	go func() {
		defer func() {
			if bug := recover(); bug != nil { // in a goroutine of this client it would end the gateway
				c.client.mistakes.report(failure(ErrClientFault, "a bug in a Store"))
			}
		}()
		_, _ = c.store(ctx, response, options) // what goes wrong is logged
	}()
}

func (c *Claim) store(
	ctx context.Context, response UpstreamResponse, options []StoreOption,
) (*StoreResult, error) {
	how := fillOver
	defer func() { c.end(how) }()
	if c.fill != nil {
		close(c.fill.answered)
	}
	stored, err := c.client.Store(ctx, c.Decision, response, options...)
	if stored.Stored() && c.fill != nil {
		c.fill.decision, c.fill.response, c.fill.stored = c.Decision, response, stored
		how = fillStored
	}
	return stored, err
}

// Abandon gives the claim back, since there is no answer to store: the lease, if this caller has one, and the turn.
// After Store it does nothing. The call is made even when ctx is cancelled.
func (c *Claim) Abandon(ctx context.Context) {
	if c.done {
		return
	}
	c.done = true
	defer c.end(fillAbandoned)
	_, _ = c.client.Abandon(ctx, c.Decision) // what goes wrong is logged; the lease ends by itself
}

// end lets go of those who wait.
func (c *Claim) end(how ending) {
	if c.fill != nil {
		c.client.fills.end(c.fill, how)
		c.fill = nil
	}
}

// keyOfFill identifies a request among those of this process; false when it has to be looked up for itself: only an
// ordinary Lookup may be answered by what another one brought.
func keyOfFill(r *LookupRequest) ([sha256.Size]byte, bool) {
	if c := r.Controls; c != nil && (c.Mode != 0 && c.Mode != ModeDefault || c.MinFresh != 0) {
		return [sha256.Size]byte{}, false
	}
	named := *r
	named.RequestID, named.WaitForFill, named.Trace = "", 0, false
	message, failed := encodeLookup(&named, 0)
	if failed != nil {
		return [sha256.Size]byte{}, false
	}
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	return sha256.Sum256(raw), err == nil
}

// ending is how a fill went for those who waited.
type ending int

const (
	fillUndecided ending = iota // the time for a Lookup was over before anything was known
	fillStored                  // there is an answer for all
	fillOver                    // none is to be had by waiting
	fillAbandoned               // the provider failed, or its caller has gone
)

// fill is one request that some caller of this process is looking up or filling.
type fill struct {
	key      [sha256.Size]byte
	decided  chan struct{} // closed when it is a miss that will be filled
	answered chan struct{} // closed when the provider's answer is being stored
	settled  chan struct{} // closed at the end
	how      ending        // this and the following are to be read after settled

	decision *Decision
	response UpstreamResponse
	stored   *StoreResult
}

// collapsed returns the decision of a caller that waited for the answer which was stored.
func (f *fill) collapsed() *Decision {
	answer, now := f.response, time.Now()
	candidate := &Candidate{
		StoreTime:         now,
		ExpireTime:        f.stored.ExpireTime,
		SourceRequestID:   answer.SourceRequestID,
		Stream:            ShapeJSON,
		ContainsToolCalls: answer.ContainsToolCalls,
		Usage:             answer.Usage,
		CostAvoidedUSD:    answer.CostUSD,
		Body:              &Body{Data: answer.Body, ContentType: answer.ContentType},
	}
	if streams.IsStream(answer.Body) {
		candidate.Stream = ShapeStream
	}
	if !answer.RequestStartTime.IsZero() {
		candidate.Age = max(now.Sub(answer.RequestStartTime), 0)
	}
	if !candidate.ExpireTime.IsZero() {
		candidate.TTLLeft = candidate.ExpireTime.Sub(now)
	}
	decision := &Decision{
		Outcome: OutcomeHit, Candidate: candidate, Collapsed: true, RuleID: f.decision.RuleID,
		CacheStatus: "askonce; fwd=miss; collapsed", BodyOmitted: f.decision.BodyOmitted,
	}
	if len(f.stored.Entries) > 0 {
		first := f.stored.Entries[0]
		decision.Kind, candidate.EntryID = first.Kind, first.EntryID
		candidate.EntrySHA7 = string(first.EntryID[:min(7, len(first.EntryID))])
	}
	return decision
}

// wait waits until the fill is over: for its decision and for its Store no longer than a Lookup may take.
func (f *fill) wait(ctx context.Context, r *LookupRequest, budget time.Duration) ending {
	patience := time.NewTimer(budget)
	defer patience.Stop()
	select {
	case <-f.settled:
		return f.how
	case <-ctx.Done():
		return fillUndecided
	case <-patience.C:
		return fillUndecided
	case <-f.decided:
	}
	longest := longestFill
	if r.WaitForFill > 0 {
		longest = r.WaitForFill
	}
	patience.Reset(longest)
	select {
	case <-f.answered:
		patience.Reset(budget)
	case <-f.settled:
	case <-ctx.Done():
	case <-patience.C:
		return fillOver
	}
	select {
	case <-f.settled:
		return f.how
	case <-ctx.Done():
	case <-patience.C:
	}
	return fillOver
}

// fills are the fills of one process.
type fills struct {
	mu    sync.Mutex
	byKey map[[sha256.Size]byte]*fill
}

func newFills() *fills { return &fills{byKey: map[[sha256.Size]byte]*fill{}} }

// begin returns a new fill, or the one that another caller has begun.
func (f *fills) begin(key [sha256.Size]byte) (mine, others *fill) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if others = f.byKey[key]; others != nil {
		return nil, others
	}
	mine = &fill{
		key: key, decided: make(chan struct{}), answered: make(chan struct{}), settled: make(chan struct{}),
	}
	f.byKey[key] = mine
	return mine, nil
}

func (f *fills) end(ended *fill, how ending) {
	f.mu.Lock()
	delete(f.byKey, ended.key)
	f.mu.Unlock()
	ended.how = how
	close(ended.settled)
}
