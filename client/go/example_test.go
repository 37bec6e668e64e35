package askonce_test

import (
	"context"
	"fmt"
	"net/http"
	"time"

	askonce "github.com/askonce/askonce/client/go"
	"github.com/askonce/askonce/client/go/askoncetest"
)

// callOpenAI stands for your gateway's call of the provider.
func callOpenAI(context.Context, []byte) (status int, answer []byte) {
	return http.StatusOK, []byte(`{"choices":[{"finish_reason":"stop","message":{"content":"Paris."}}]}`)
}

// A gateway asks before it calls the provider, and stores after. A Store after a decision that asked for none makes no
// call, so the code is right for misses, bypasses and outages alike.
func Example() {
	cache := askoncetest.New() // in your gateway: askonce.New("unix:///run/askonce/askonce.sock")
	defer func() { _ = cache.Close() }()

	complete := func(ctx context.Context, tenant string, body []byte) []byte {
		served := askonce.Target{Provider: "openai", Model: "gpt-4o"} // what you will call now, after routing
		descriptor := askonce.OpenAIChat(body, served, askonce.Scope{"tenant": tenant})
		decision, _ := cache.Lookup(ctx, descriptor) // the error is nil unless the client is strict
		fmt.Println(tenant, decision.Outcome)
		if decision.Hit() {
			return decision.Body()
		}
		status, answer := callOpenAI(ctx, body)
		_, _ = cache.Store(ctx, decision, askonce.FromOpenAIChat(status, answer))
		return answer
	}

	body := []byte(`{"model":"gpt-4o","temperature":0,"messages":[{"role":"user","content":"Capital of France?"}]}`)
	complete(context.Background(), "acme", body)
	complete(context.Background(), "acme", body)
	complete(context.Background(), "globex", body)
	// Output:
	// acme miss
	// acme hit
	// globex miss
}

// When the sidecar is down, slow or broken, the decision is a bypass that says why.
func Example_outage() {
	cache, err := askonce.New("unix:///nobody/listens/here.sock", askonce.WithBudget(time.Second))
	if err != nil {
		panic(err)
	}
	defer func() { _ = cache.Close() }()

	descriptor := askonce.OpenAIChat([]byte(`{}`), askonce.Target{Provider: "openai", Model: "gpt-4o"}, nil)
	decision, err := cache.Lookup(context.Background(), descriptor)
	fmt.Println(err, decision.Hit(), decision.BypassReason)
	fmt.Println(decision.CacheStatus)
	// Output:
	// <nil> false sidecar_unreachable
	// askonce; fwd=bypass; detail=sidecar_unreachable
}

func ExampleWithControls() {
	cache := askoncetest.New()
	descriptor := askonce.AnthropicMessages(
		[]byte(`{"model":"claude-sonnet-4","max_tokens":64,"messages":[{"role":"user","content":"hi"}]}`),
		askonce.Target{Provider: "anthropic", Model: "claude-sonnet-4"}, askonce.Scope{"tenant": "acme"},
	)
	descriptor.Headers = map[string]string{"anthropic-beta": "context-1m"} // it changes answers, so it is keyed
	decision, _ := cache.Lookup(context.Background(), descriptor,
		askonce.WithControls(askonce.Controls{Mode: askonce.ModeRefresh, TTL: 5 * time.Minute}))
	fmt.Println(decision.Outcome, decision.DenyReason)
	// Output: miss refresh
}
