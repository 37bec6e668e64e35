// Package askoncetest has a stand-in for tests of code that uses an askonce.Client: the same client, around an
// imagined sidecar in memory. It checks, fails open and breaks circuits exactly as the real one does.
package askoncetest

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	askonce "github.com/askonce/askonce/client/go"
	pb "github.com/askonce/askonce/client/go/gen/askonce/v1"
)

// Fake is a client without a sidecar. It starts empty: a Lookup misses and hands out a token, a Store with it is found
// by the next Lookup. It knows JSON apart from white space and key order, and requires a tenant, as the sidecar's
// default rule does; it does not know the sidecar's other rules, and nothing in it expires. It is safe for concurrent
// use.
//
// What it is told with a Will method is used up, in order, before that.
type Fake struct {
	*askonce.Client

	sidecar *sidecar
}

// New makes a fake. Options are those of a client; the ones that say how to connect do nothing.
func New(options ...askonce.Option) *Fake {
	imagined := newSidecar()
	client, err := askonce.NewWithConn(imagined, options...)
	if err != nil {
		panic(err) // only for a budget that is not positive: a mistake of the test
	}
	return &Fake{Client: client, sidecar: imagined}
}

// WillHit serves body to the next Lookup.
func (f *Fake) WillHit(body []byte, contentType string) {
	served := &pb.Body{Data: body, ContentType: contentType}
	f.sidecar.decideNext(&pb.Decision{
		Outcome:     pb.Outcome_OUTCOME_HIT,
		Kind:        pb.MatchKind_MATCH_KIND_EXACT,
		CacheStatus: "askonce; hit",
		Candidate:   &pb.Candidate{Body: served},
	})
}

// WillMiss lets the next Lookup miss, whatever is stored.
func (f *Fake) WillMiss() {
	f.sidecar.decideNext(&pb.Decision{Outcome: pb.Outcome_OUTCOME_MISS, CacheStatus: "askonce; fwd=miss"})
}

// WillBypass bypasses the next Lookup for one of the sidecar's own reasons; for the others use WillFail.
func (f *Fake) WillBypass(reason askonce.BypassReason) {
	f.sidecar.decideNext(bypass(pb.BypassReason(reason)))
}

// WillDecide answers the next Lookup with any decision of the contract.
func (f *Fake) WillDecide(decision *pb.Decision) { f.sidecar.decideNext(decision) }

// WillRefuse refuses the next Store.
func (f *Fake) WillRefuse(reason askonce.RefusalReason) {
	f.sidecar.mu.Lock()
	defer f.sidecar.mu.Unlock()
	f.sidecar.refusals = append(f.sidecar.refusals, pb.RefusalReason(reason))
}

// WillFail fails the next call, of whatever verb but ServerInfo.
func (f *Fake) WillFail(code codes.Code, message string) {
	f.sidecar.mu.Lock()
	defer f.sidecar.mu.Unlock()
	f.sidecar.failures = append(f.sidecar.failures, status.Error(code, message))
}

// SetDelay makes every later call take so long.
func (f *Fake) SetDelay(delay time.Duration) {
	f.sidecar.mu.Lock()
	defer f.sidecar.mu.Unlock()
	f.sidecar.delay = delay
}

// SetRules says what ServerInfo answers, in place of one deterministic rule named default.
func (f *Fake) SetRules(rules ...askonce.RuleSummary) {
	f.sidecar.mu.Lock()
	defer f.sidecar.mu.Unlock()
	f.sidecar.rules = rules
}

// Calls returns the name of every call that reached the sidecar, such as BatchLookup, in order; ServerInfo is left
// out.
func (f *Fake) Calls() []string {
	f.sidecar.mu.Lock()
	defer f.sidecar.mu.Unlock()
	return append([]string(nil), f.sidecar.calls...)
}

// Lookups returns every Lookup that reached the sidecar, those of batches included, in order.
func (f *Fake) Lookups() []*pb.LookupRequest {
	f.sidecar.mu.Lock()
	defer f.sidecar.mu.Unlock()
	return append([]*pb.LookupRequest(nil), f.sidecar.lookups...)
}

// Stores returns every Store that reached the sidecar, those of batches included, in order.
func (f *Fake) Stores() []*pb.StoreRequest {
	f.sidecar.mu.Lock()
	defer f.sidecar.mu.Unlock()
	return append([]*pb.StoreRequest(nil), f.sidecar.stores...)
}

// Batch says how large a BatchLookup was.
type Batch struct{ Items, Bytes int }

// Batches returns the size of every BatchLookup that reached the sidecar, in order.
func (f *Fake) Batches() []Batch {
	f.sidecar.mu.Lock()
	defer f.sidecar.mu.Unlock()
	return append([]Batch(nil), f.sidecar.batches...)
}

// Abandons returns every Abandon that reached the sidecar, in order.
func (f *Fake) Abandons() []*pb.AbandonRequest {
	f.sidecar.mu.Lock()
	defer f.sidecar.mu.Unlock()
	return append([]*pb.AbandonRequest(nil), f.sidecar.abandons...)
}

var _ grpc.ClientConnInterface = (*sidecar)(nil)

// Invoke answers a call, as a connection to a sidecar would.
func (s *sidecar) Invoke(ctx context.Context, method string, args, reply any, _ ...grpc.CallOption) error {
	request, isRequest := args.(proto.Message)
	answer, isAnswer := reply.(proto.Message)
	if !isRequest || !isAnswer {
		return status.Error(codes.Internal, "the call carries no messages")
	}
	s.mu.Lock()
	delay := s.delay
	s.mu.Unlock()
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-ctx.Done():
		}
	}
	if err := ctx.Err(); err != nil {
		return status.FromContextError(err).Err()
	}
	raw, err := proto.Marshal(request)
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	response, err := s.answer(method, raw)
	if err != nil {
		return err
	}
	proto.Reset(answer)
	proto.Merge(answer, response)
	return nil
}

// NewStream fails: the contract has no streams.
func (s *sidecar) NewStream(
	context.Context, *grpc.StreamDesc, string, ...grpc.CallOption,
) (grpc.ClientStream, error) {
	return nil, status.Error(codes.Unimplemented, "the sidecar has no streams")
}

type sidecar struct {
	mu        sync.Mutex
	delay     time.Duration
	entries   map[string]*pb.UpstreamResponse
	tokens    map[string]string
	failures  []error
	decisions []*pb.Decision
	refusals  []pb.RefusalReason
	rules     []askonce.RuleSummary
	calls     []string
	lookups   []*pb.LookupRequest
	stores    []*pb.StoreRequest
	abandons  []*pb.AbandonRequest
	batches   []Batch
}

func newSidecar() *sidecar {
	strategy := []askonce.MatchKind{askonce.MatchExact, askonce.MatchNormalized}
	return &sidecar{
		entries: map[string]*pb.UpstreamResponse{},
		tokens:  map[string]string{},
		rules:   []askonce.RuleSummary{{ID: "default", Mode: "serve", Strategy: strategy, Scope: []string{"tenant"}}},
	}
}

func (s *sidecar) decideNext(decision *pb.Decision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.decisions = append(s.decisions, decision)
}
