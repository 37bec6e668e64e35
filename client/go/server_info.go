package askonce

import (
	"context"
	"time"

	pb "github.com/askonce/askonce/client/go/gen/askonce/v1"
)

// RuleSummary describes a rule of the sidecar.
type RuleSummary struct {
	ID string
	// Mode is off, shadow or serve.
	Mode string
	// Strategy lists the matchers in the order in which they are asked.
	Strategy []MatchKind
	// Scope lists the dims in order.
	Scope []string
	TTL   time.Duration
}

// Deterministic says whether no decision of the rule ever waits for an embedding.
func (r RuleSummary) Deterministic() bool {
	for _, matcher := range r.Strategy {
		if matcher != MatchExact && matcher != MatchNormalized {
			return false
		}
	}
	return true
}

// ServerInfo says what the sidecar is.
type ServerInfo struct {
	Version string
	// KeySchema names how keys are made: they are equal between sidecars of the same one.
	KeySchema string
	// Rules stand in the order in which they are tried.
	Rules []RuleSummary
	// StoreServing says whether the store can be used. While it cannot, every Lookup is a bypass.
	StoreServing bool
}

// ServerInfo asks the sidecar what it is. It returns an error whenever it has no answer: there is nothing to fail
// open to.
func (c *Client) ServerInfo(ctx context.Context) (*ServerInfo, error) {
	info, failed := c.serverInfo(ctx)
	if failed != nil {
		return nil, failed
	}
	return info, nil
}

// serverInfo leaves the breaker out: an operator's listener that is away says nothing of the gateway's.
func (c *Client) serverInfo(ctx context.Context) (*ServerInfo, *Error) {
	if c.closed.Load() {
		return nil, failure(ErrClosed, "the client is closed")
	}
	bounded, cancel := context.WithTimeout(ctx, c.settings.storeTimeout)
	defer cancel()
	response, err := c.info.GetServerInfo(bounded, &pb.GetServerInfoRequest{})
	if err != nil {
		return nil, errorOf(ctx, err)
	}
	info := &ServerInfo{
		Version:      response.GetVersion(),
		KeySchema:    response.GetKeySchema(),
		StoreServing: response.GetStoreServing(),
	}
	for _, rule := range response.GetRules() {
		summary := RuleSummary{ID: rule.GetId(), Mode: rule.GetMode(), Scope: rule.GetScope()}
		summary.TTL = rule.GetTtl().AsDuration()
		for _, matcher := range rule.GetStrategy() {
			summary.Strategy = append(summary.Strategy, known(MatchKind(matcher), pb.MatchKind_name))
		}
		info.Rules = append(info.Rules, summary)
	}
	return info, nil
}
