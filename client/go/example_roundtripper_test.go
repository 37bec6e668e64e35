package askonce_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	askonce "github.com/askonce/askonce/client/go"
	"github.com/askonce/askonce/client/go/askoncetest"
)

// caching is an http.RoundTripper for a program that has no gateway: it answers chat completions from the cache and
// lets everything else pass, also what has a query, which would not be keyed.
type caching struct {
	cache *askonce.Client
	scope askonce.Scope
	next  http.RoundTripper
}

func (c caching) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Path != "/v1/chat/completions" || request.URL.RawQuery != "" || request.Body == nil {
		return c.next.RoundTrip(request)
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	var said struct{ Model string }
	if json.Unmarshal(body, &said) != nil {
		said.Model = "" // which the sidecar refuses to key, so the request passes
	}
	served := askonce.Target{Provider: request.URL.Host, Model: said.Model}
	fill := func(ctx context.Context) (askonce.UpstreamResponse, error) {
		forwarded := request.Clone(ctx)
		forwarded.Body = io.NopCloser(bytes.NewReader(body))
		answer, err := c.next.RoundTrip(forwarded)
		if err != nil {
			return askonce.UpstreamResponse{}, err
		}
		defer func() { _ = answer.Body.Close() }()
		whole, err := io.ReadAll(answer.Body)
		return askonce.FromOpenAIChat(answer.StatusCode, whole), err
	}
	got, err := c.cache.Fetch(request.Context(), askonce.OpenAIChat(body, served, c.scope), fill)
	if err != nil {
		return nil, err
	}
	header := http.Header{"Content-Type": {got.ContentType}, "Cache-Status": {got.Decision.CacheStatus}}
	return &http.Response{
		Status:     fmt.Sprint(got.StatusCode, " ", http.StatusText(got.StatusCode)),
		StatusCode: got.StatusCode, Header: header, Body: io.NopCloser(bytes.NewReader(got.Body)),
		ContentLength: int64(len(got.Body)), Request: request, ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

// A program without a gateway can have the cache in its HTTP client. Streams come at once, so leave programs that show
// them while they come to a gateway.
func Example_roundTripper() {
	calls := 0
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls++
		_, _ = io.WriteString(w, `{"choices":[{"finish_reason":"stop","message":{"content":"Paris."}}]}`)
	}))
	defer provider.Close()
	cache := askoncetest.New() // in your program: askonce.New("unix:///run/askonce/askonce.sock")
	scope := askonce.Scope{"tenant": "my-program"}
	client := http.Client{Transport: caching{cache.Client, scope, http.DefaultTransport}}

	for range 3 {
		body := strings.NewReader(`{"model":"gpt-4o","temperature":0,"messages":[{"role":"user","content":"hi"}]}`)
		answer, err := client.Post(provider.URL+"/v1/chat/completions", "application/json", body)
		if err != nil {
			panic(err)
		}
		_ = answer.Body.Close()
		fmt.Println(answer.Status, answer.Header.Get("Cache-Status") != "")
	}
	fmt.Println("calls:", calls)
	// Output:
	// 200 OK true
	// 200 OK true
	// 200 OK true
	// calls: 1
}
