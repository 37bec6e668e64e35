package askonce

import (
	"context"
	"time"

	"google.golang.org/grpc/metadata"

	pb "github.com/askonce/askonce/client/go/gen/askonce/v1"
)

// Lookup asks whether a stored answer may be served. The decision is never nil; the error is, unless WithStrict was
// given.
func (c *Client) Lookup(
	ctx context.Context, descriptor Descriptor, options ...LookupOption,
) (*Decision, error) {
	request := LookupRequest{Descriptor: descriptor}
	for _, option := range options {
		option(&request)
	}
	return c.lookup(ctx, &request)
}

func (c *Client) lookup(ctx context.Context, r *LookupRequest) (*Decision, error) {
	decision, failed := c.decide(ctx, r)
	if failed != nil {
		return noDecision(failed), c.given(failed)
	}
	return decision, nil
}

// decide asks alone or, where that costs nobody time, together with others.
func (c *Client) decide(ctx context.Context, r *LookupRequest) (*Decision, *Error) {
	crowded := c.inFlight.Add(1) > 1
	defer c.inFlight.Add(-1)
	if !c.settings.coalescing || r.WaitForFill > 0 || carriesMetadata(ctx) {
		return c.decideAlone(ctx, r)
	}
	ask := c.decideAlone
	if deterministic := c.rulebook.deterministic(ctx, &r.Descriptor); crowded && deterministic {
		ask = c.gathering.decide
	}
	decision, failed := ask(ctx, r)
	if failed == nil {
		c.rulebook.learn(&r.Descriptor, decision.RuleID)
	}
	return decision, failed
}

// carriesMetadata says whether the caller gave gRPC metadata, which belong to this call and to no other.
func carriesMetadata(ctx context.Context) bool {
	given, ok := metadata.FromOutgoingContext(ctx)
	return ok && len(given) > 0
}

// decideAlone asks once.
func (c *Client) decideAlone(ctx context.Context, r *LookupRequest) (*Decision, *Error) {
	budget := c.budgetOf(r) + max(r.WaitForFill, 0)
	deadline := time.Now().Add(budget)
	message, failed := encodeLookup(r, budget)
	if failed != nil {
		return nil, failed
	}
	var response *pb.LookupResponse
	failed = c.ask(ctx, time.Until(deadline), func(ctx context.Context) (err error) {
		response, err = c.stub.Lookup(ctx, message)
		return err
	})
	if failed != nil {
		return nil, failed
	}
	return decodeDecision(response.GetDecision(), r.OmitBody, nil)
}

func (c *Client) budgetOf(r *LookupRequest) time.Duration {
	if r.Budget > 0 {
		return r.Budget
	}
	return c.settings.budget
}

// Store files an answer under the decision (or fill token) that asked for it, or under a descriptor. A decision that
// asked for no Store is refused here, without a call: it is safe to store after every decision that was not a hit.
func (c *Client) Store(
	ctx context.Context, source Source, response UpstreamResponse, options ...StoreOption,
) (*StoreResult, error) {
	request := StoreRequest{Source: source, Response: response}
	for _, option := range options {
		option(&request)
	}
	if asksForNone(source) {
		return nothingToFill(), nil
	}
	message, failed := encodeStore(&request)
	var stored *pb.StoreResponse
	if failed == nil {
		failed = c.ask(ctx, c.settings.storeTimeout, func(ctx context.Context) (err error) {
			stored, err = c.stub.Store(ctx, message)
			return err
		})
	}
	if failed != nil {
		return notStored(failed), c.given(failed)
	}
	return decodeStored(stored), nil
}

// asksForNone says whether the source is a decision that asked for no Store, so that there is nothing to send.
func asksForNone(source Source) bool {
	decision, ok := source.(*Decision)
	return ok && (decision == nil || !decision.StoreAnswer || len(decision.FillToken) == 0)
}

// Abandon gives a lease back, since the provider call failed. A decision without a lease costs no call, nor is it an
// error that a sidecar knows no leases. The call is made even when ctx is cancelled: that the client has gone is a
// reason to abandon.
func (c *Client) Abandon(ctx context.Context, source Source) (*AbandonResult, error) {
	if decision, ok := source.(*Decision); ok && (decision == nil || !decision.LeaseHolder) {
		return &AbandonResult{}, nil
	}
	message := &pb.AbandonRequest{FillToken: tokenOf(source)}
	var abandoned *pb.AbandonResponse
	ctx = context.WithoutCancel(ctx)
	failed := c.ask(ctx, c.settings.storeTimeout, func(ctx context.Context) (err error) {
		abandoned, err = c.stub.Abandon(ctx, message)
		return err
	})
	if failed != nil && failed.Code == "UNIMPLEMENTED" {
		return &AbandonResult{}, nil
	}
	if failed != nil {
		return &AbandonResult{Err: failed}, c.given(failed)
	}
	return &AbandonResult{Released: abandoned.GetReleased()}, nil
}

// Feedback tells whether a served answer was right; by names who judged.
func (c *Client) Feedback(
	ctx context.Context, subject Subject, verdict Verdict, by string,
) (*FeedbackResult, error) {
	message, failed := encodeFeedback(subject, verdict, by)
	var recorded *pb.RecordFeedbackResponse
	if failed == nil {
		failed = c.ask(ctx, c.settings.storeTimeout, func(ctx context.Context) (err error) {
			recorded, err = c.stub.RecordFeedback(ctx, message)
			return err
		})
	}
	if failed != nil {
		return &FeedbackResult{Err: failed}, c.given(failed)
	}
	return &FeedbackResult{Recorded: recorded.GetRecorded()}, nil
}
