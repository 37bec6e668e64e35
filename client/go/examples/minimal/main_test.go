package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	askonce "github.com/askonce/askonce/client/go"
	"github.com/askonce/askonce/client/go/askoncetest"
)

const stream = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%d\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"

// start returns what posts a body to the gateway, and how often the provider was called.
func start(t *testing.T) (post func(key, body string) (int, string, string), calls *int) {
	t.Helper()
	calls = new(int)
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*calls++
		if r.Header.Get("Authorization") != "Bearer real" {
			t.Errorf("the provider got the key %q", r.Header.Get("Authorization"))
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, stream, *calls)
	}))
	t.Cleanup(provider.Close)
	fake := askoncetest.New(askonce.WithBudget(10 * time.Second))
	tenants := map[string]string{"sk-acme": "acme", "sk-globex": "globex"}
	server := httptest.NewServer(&gateway{provider.URL, "real", tenants, fake.Client})
	t.Cleanup(server.Close)
	return func(key, body string) (int, string, string) {
		request, _ := http.NewRequest("POST", server.URL+"/v1/chat/completions", strings.NewReader(body))
		request.Header.Set("Authorization", "Bearer "+key)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		said, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, string(said), answer.Header.Get("Cache-Status")
	}, calls
}

func TestTheSecondCallIsAHitAndTenantsStayApart(t *testing.T) {
	post, calls := start(t)
	body := `{"model":"gpt-4o","stream":true,"messages":[{"role":"user","content":"hi"}]}`
	_, first, missed := post("sk-acme", body)
	_, second, _ := post("sk-acme", body) // a hit, or, while the first is being stored, collapsed
	_, other, _ := post("sk-globex", body)
	if first != second || missed != "askonce; fwd=miss" {
		t.Errorf("%q %q %q", first, second, missed)
	}
	if other == first || *calls != 2 {
		t.Errorf("%q after %d calls", other, *calls)
	}
}

func TestWhoIsNobodyAndWhatIsNoJSONIsRefused(t *testing.T) {
	post, calls := start(t)
	if status, _, _ := post("sk-nobody", `{}`); status != http.StatusUnauthorized {
		t.Error(status)
	}
	if status, _, _ := post("sk-acme", `{`); status != http.StatusBadRequest {
		t.Error(status)
	}
	if *calls != 0 {
		t.Error("the provider was called")
	}
}
