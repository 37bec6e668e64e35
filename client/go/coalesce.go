package askonce

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/askonce/askonce/client/go/gen/askonce/v1"
)

const (
	// mostItems is the contract's limit of a batch.
	mostItems = 256
	// mostBatchBytes keeps a batch well below the sidecar's default `max_request` of 8 MiB, and its decoding short.
	mostBatchBytes = 1 << 20
	// mostAnswerBytes is below the sidecar's default `max_response` of 3 MiB, beyond which items come back without.
	mostAnswerBytes = 2 << 20
)

// gathering batches naturally: while one call is in flight, Lookups that arrive gather, and go out together when it
// returns. At low load nothing waits; at high load the batch grows by itself.
type gathering struct {
	client *Client

	lanes int // how many calls may be in flight: one a connection

	mu      sync.Mutex
	flying  int
	waiting []*gathered
	// bodyBytes is a running mean of the bodies of hits, so that batches of large ones stay small.
	bodyBytes int
}

// gathered is one Lookup that waits for its turn.
type gathered struct {
	ctx      context.Context
	request  *LookupRequest
	raw      []byte // the encoded request: its caller may go, and change what it gave, before the batch is sent
	deadline time.Time
	done     chan struct{}
	decision *Decision
	failed   *Error
}

// decide asks for one decision, alone when nothing is in flight, else with others.
func (g *gathering) decide(ctx context.Context, r *LookupRequest) (*Decision, *Error) {
	if g.takeOff() {
		defer g.land()
		return g.client.decideAlone(ctx, r)
	}
	item, failed := g.join(ctx, r)
	if failed != nil {
		return nil, failed
	}
	return g.await(ctx, item)
}

// takeOff says whether a lane is free, and takes it.
func (g *gathering) takeOff() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.flying == g.lanes {
		return false
	}
	g.flying++
	return true
}

// land gives a lane to what has gathered meanwhile, or frees it.
func (g *gathering) land() {
	g.mu.Lock()
	batch := g.next()
	if len(batch) == 0 {
		g.flying--
	}
	g.mu.Unlock()
	if len(batch) > 0 {
		go g.fly(batch)
	}
}

// next takes as many as may go together, leaving out those whose time is over.
func (g *gathering) next() []*gathered {
	var batch []*gathered
	size, now := 0, time.Now()
	most := mostItems
	if g.bodyBytes > 0 {
		most = min(most, max(1, mostAnswerBytes/g.bodyBytes))
	}
	for taken, item := range g.waiting {
		if len(batch) == most || len(batch) > 0 && size+len(item.raw) > mostBatchBytes {
			g.waiting = g.waiting[taken:]
			return batch
		}
		if item.deadline.After(now) {
			batch = append(batch, item)
			size += len(item.raw)
		}
	}
	g.waiting = nil
	return batch
}

func (g *gathering) join(ctx context.Context, r *LookupRequest) (*gathered, *Error) {
	budget := g.client.budgetOf(r)
	message, failed := encodeLookup(r, budget)
	if failed != nil {
		return nil, failed
	}
	raw, err := proto.Marshal(message)
	if err != nil {
		return nil, failure(ErrInvalidRequest, "the request cannot be encoded")
	}
	item := &gathered{
		// The call is a span of its first caller, whose going must not end it.
		ctx:     context.WithoutCancel(ctx),
		request: r, raw: raw, deadline: time.Now().Add(budget), done: make(chan struct{}),
	}
	g.mu.Lock()
	g.waiting = append(g.waiting, item)
	g.mu.Unlock()
	if g.takeOff() { // what was in flight has returned since
		g.land()
	}
	return item, nil
}

// await returns the item's decision, or gives up when its caller goes or its time is over.
func (g *gathering) await(ctx context.Context, item *gathered) (*Decision, *Error) {
	patience := time.NewTimer(time.Until(item.deadline))
	defer patience.Stop()
	select {
	case <-item.done:
	case <-ctx.Done():
		return nil, failure(ErrCallerGone, ctx.Err().Error())
	case <-patience.C:
		return nil, failure(ErrBudgetExceeded, "no time was left to ask the sidecar")
	}
	if item.failed != nil && item.failed.Kind == ErrTooLarge {
		// The batch could not carry this item's body: ask for it alone.
		alone := *item.request
		alone.Budget = max(time.Until(item.deadline), 1)
		return g.client.decideAlone(ctx, &alone)
	}
	return item.decision, item.failed
}

// fly makes one call for a batch and hands every item what is its own.
func (g *gathering) fly(batch []*gathered) {
	defer g.land()
	defer func() {
		if bug := recover(); bug != nil { // in a goroutine of this client it would end the gateway
			g.fail(batch, failure(ErrClientFault, fmt.Sprintf("%T in a batch", bug)))
		}
	}()
	message := &pb.BatchLookupRequest{Items: make([]*pb.LookupRequest, len(batch))}
	latest := time.Time{}
	for index, item := range batch {
		// Bytes that were encoded before are sent as fields that this message does not know.
		message.Items[index] = &pb.LookupRequest{}
		message.Items[index].ProtoReflect().SetUnknown(item.raw)
		if item.deadline.After(latest) {
			latest = item.deadline
		}
	}
	var response *pb.BatchLookupResponse
	failed := g.client.ask(batch[0].ctx, time.Until(latest), func(ctx context.Context) (err error) {
		response, err = g.client.stub.BatchLookup(ctx, message)
		return err
	})
	if failed == nil {
		failed = asMany(len(response.GetResults()), len(batch))
	}
	if failed != nil {
		g.fail(batch, failed)
		return
	}
	g.share(batch, response.GetResults())
}

func (g *gathering) fail(batch []*gathered, failed *Error) {
	for _, item := range batch {
		select {
		case <-item.done:
		default:
			item.failed = failed
			close(item.done)
		}
	}
}

func (g *gathering) share(batch []*gathered, results []*pb.BatchLookupResult) {
	decisions := make([]*Decision, len(batch))
	earlier := func(index int) *Decision { return decisions[index] }
	bytes, hits := 0, 0
	for index, item := range batch {
		decision, failed := decodeResult(results[index], index, item.request.OmitBody, earlier)
		if failed == nil {
			decision.SameAs = nil // the caller knows nothing of a batch
			if decision.Hit() {
				bytes, hits = bytes+len(decision.Body()), hits+1
			}
		}
		decisions[index] = decision
		item.decision, item.failed = decision, failed
		close(item.done)
	}
	if hits > 0 {
		g.mu.Lock()
		g.bodyBytes = (7*g.bodyBytes + bytes/hits) / 8
		g.mu.Unlock()
	}
}
