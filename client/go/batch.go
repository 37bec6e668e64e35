package askonce

import (
	"context"
	"fmt"
	"time"

	pb "github.com/askonce/askonce/client/go/gen/askonce/v1"
)

// BatchLookup asks for 1 to 256 decisions at once, in one budget; the order is kept. An item's own failure stands in
// that item's Err, under WithStrict too. WaitForFill is ignored: a batch waits for nobody.
func (c *Client) BatchLookup(ctx context.Context, requests []LookupRequest) ([]*Decision, error) {
	batch := &lookupBatch{
		client:    c,
		requests:  requests,
		decisions: make([]*Decision, len(requests)),
		deadline:  time.Now().Add(c.settings.budget),
	}
	results, failed := batch.ask(ctx)
	if failed != nil {
		for position := range batch.decisions {
			batch.decisions[position] = noDecision(failed)
		}
		return batch.decisions, c.given(failed)
	}
	for index, result := range results {
		batch.decisions[batch.sent[index]] = batch.complete(ctx, index, result)
	}
	return batch.decisions, nil
}

// lookupBatch is one BatchLookup, and what it takes to complete its items. No item can spoil another.
type lookupBatch struct {
	client    *Client
	requests  []LookupRequest
	decisions []*Decision
	sent      []int // positions of the items that were sent, in their order on the wire
	deadline  time.Time
}

func (b *lookupBatch) ask(ctx context.Context) ([]*pb.BatchLookupResult, *Error) {
	message := &pb.BatchLookupRequest{}
	for position := range b.requests {
		item, failed := encodeLookup(&b.requests[position], b.client.settings.budget)
		if failed != nil {
			b.decisions[position] = b.failed(failed)
			continue
		}
		message.Items = append(message.Items, item)
		b.sent = append(b.sent, position)
	}
	if len(b.sent) == 0 {
		return nil, nil
	}
	var response *pb.BatchLookupResponse
	failed := b.client.ask(ctx, time.Until(b.deadline), func(ctx context.Context) (err error) {
		response, err = b.client.stub.BatchLookup(ctx, message)
		return err
	})
	if failed == nil {
		failed = asMany(len(response.GetResults()), len(b.sent))
	}
	return response.GetResults(), failed
}

// complete returns an item's decision; it asks for the item alone where the batch could not carry its body.
func (b *lookupBatch) complete(ctx context.Context, index int, result *pb.BatchLookupResult) *Decision {
	request := &b.requests[b.sent[index]]
	earlier := func(index int) *Decision { return b.decisions[b.sent[index]] }
	decision, failed := decodeResult(result, index, request.OmitBody, earlier)
	switch {
	case failed == nil:
		if decision.SameAs != nil {
			// Items that were not sent have no index on the wire, but one in the caller's list.
			position := b.sent[*decision.SameAs]
			decision.SameAs = &position
		}
		return decision
	case failed.Kind == ErrTooLarge:
		return b.askAlone(ctx, request)
	}
	return b.failed(failed)
}

// decodeResult reads the result of the item at index; earlier returns the decision of an item before it, or nil. It
// fails with ErrTooLarge when the item is to be asked for alone, since the batch could not carry its body.
func decodeResult(
	result *pb.BatchLookupResult, index int, omitBody bool, earlier func(int) *Decision,
) (*Decision, *Error) {
	switch result := result.GetResult().(type) {
	case *pb.BatchLookupResult_Error:
		return nil, errorOfItem(result.Error)
	case *pb.BatchLookupResult_Decision:
		var first *Decision
		twin := result.Decision.SameAs != nil && int(result.Decision.GetSameAs()) < index
		if twin {
			first = earlier(int(result.Decision.GetSameAs()))
		}
		decision, failed := decodeDecision(result.Decision, omitBody, first)
		switch {
		case failed == nil && !twin:
			decision.SameAs = nil // of a later item, or of itself: nonsense
		case failed != nil && result.Decision.SameAs != nil:
			failed.Kind = ErrTooLarge
		}
		return decision, failed
	}
	return nil, failure(ErrSidecarFailed, "the sidecar sent neither a decision nor an error")
}

func (b *lookupBatch) askAlone(ctx context.Context, request *LookupRequest) *Decision {
	alone := *request
	alone.WaitForFill = 0
	alone.Budget = max(time.Until(b.deadline), 1)
	decision, failed := b.client.decideAlone(ctx, &alone)
	if failed != nil {
		return b.failed(failed)
	}
	return decision
}

func (b *lookupBatch) failed(failed *Error) *Decision {
	b.client.mistakes.report(failed)
	return noDecision(failed)
}

// BatchStore files 1 to 256 answers at once; the order is kept, and each item has its own result.
func (c *Client) BatchStore(ctx context.Context, requests []StoreRequest) ([]*StoreResult, error) {
	results := make([]*StoreResult, len(requests))
	message := &pb.BatchStoreRequest{}
	var sent []int
	for position := range requests {
		if asksForNone(requests[position].Source) {
			results[position] = nothingToFill()
			continue
		}
		item, failed := encodeStore(&requests[position])
		if failed != nil {
			results[position] = c.itemNotStored(failed)
			continue
		}
		message.Items = append(message.Items, item)
		sent = append(sent, position)
	}
	if len(sent) == 0 {
		return results, nil
	}
	var response *pb.BatchStoreResponse
	failed := c.ask(ctx, c.settings.storeTimeout, func(ctx context.Context) (err error) {
		response, err = c.stub.BatchStore(ctx, message)
		return err
	})
	if failed == nil {
		failed = asMany(len(response.GetResults()), len(sent))
	}
	if failed != nil {
		for _, position := range sent {
			results[position] = notStored(failed)
		}
		return results, c.given(failed)
	}
	for index, result := range response.GetResults() {
		results[sent[index]] = c.storedItem(result)
	}
	return results, nil
}

func (c *Client) storedItem(result *pb.BatchStoreResult) *StoreResult {
	switch result := result.GetResult().(type) {
	case *pb.BatchStoreResult_Response:
		return decodeStored(result.Response)
	case *pb.BatchStoreResult_Error:
		return c.itemNotStored(errorOfItem(result.Error))
	}
	return c.itemNotStored(failure(ErrSidecarFailed, "the sidecar sent neither a response nor an error"))
}

func (c *Client) itemNotStored(failed *Error) *StoreResult {
	c.mistakes.report(failed)
	return notStored(failed)
}

func asMany(answered, sent int) *Error {
	if answered == sent {
		return nil
	}
	return failure(ErrSidecarFailed, fmt.Sprintf("the sidecar answered %d of %d items", answered, sent))
}
