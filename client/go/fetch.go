package askonce

import (
	"context"
	"net/http"
)

// Fill calls the provider. An error means that there is no answer; an answer that is not to be kept, for example one
// with a status of 500, is an answer.
type Fill func(ctx context.Context) (UpstreamResponse, error)

// Fetched is an answer, from the cache or from the provider.
type Fetched struct {
	// Body must not be changed.
	Body        []byte
	ContentType string
	// StatusCode is the provider's; 200 for a hit.
	StatusCode int
	Decision   *Decision
}

// Fetch serves a request from the cache or calls fill and stores what it brings, without waiting for the Store.
// Callers with identical requests, in this process and, as far as the sidecar's rule says so, in others, wait for one
// of them to fill. The error is that of fill, or of the sidecar under WithStrict.
func (c *Client) Fetch(
	ctx context.Context, descriptor Descriptor, fill Fill, options ...LookupOption,
) (*Fetched, error) {
	withBody := func(r *LookupRequest) { r.OmitBody = false }
	claim, err := c.Claim(ctx, descriptor, append(options[:len(options):len(options)], withBody)...)
	defer claim.Abandon(ctx)
	decision := claim.Decision
	if err != nil {
		return nil, err
	}
	if decision.Hit() {
		return &Fetched{decision.Body(), decision.ContentType(), http.StatusOK, decision}, nil
	}
	answer, err := fill(ctx)
	if err != nil {
		return nil, err
	}
	claim.StoreAsync(ctx, answer)
	return &Fetched{answer.Body, answer.ContentType, answer.StatusCode, decision}, nil
}
