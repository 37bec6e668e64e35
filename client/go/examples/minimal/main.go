// Command minimal is the least of a gateway with AskOnce: one API, one provider, a key per tenant.
package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"strings"

	askonce "github.com/askonce/askonce/client/go"
)

type gateway struct {
	upstream string            // the provider's URL
	key      string            // the provider's key
	tenants  map[string]string // who calls, by this gateway's keys
	cache    *askonce.Client
}

func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	tenant := g.tenants[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	if tenant == "" {
		http.Error(w, "no such key", http.StatusUnauthorized)
		return
	}
	var request struct{ Model string }
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 8<<20))
	if err != nil || json.Unmarshal(body, &request) != nil {
		http.Error(w, "no JSON", http.StatusBadRequest)
		return
	}

	// Ask. Describe what leaves this gateway: the provider and the model that will be called, the body that it is sent.
	served := askonce.Target{Provider: "openai", Model: request.Model}
	descriptor := askonce.OpenAIChat(body, served, askonce.Scope{"tenant": tenant})
	claim, _ := g.cache.Claim(r.Context(), descriptor) // the error is nil unless the client is strict
	defer claim.Abandon(r.Context())                   // whatever happens: others may wait for this answer
	w.Header().Set("Cache-Status", claim.Decision.CacheStatus)
	if claim.Decision.Hit() {
		w.Header().Set("Content-Type", claim.Decision.ContentType())
		_, _ = w.Write(claim.Decision.Body())
		return
	}

	answer, err := g.call(r, body)
	if err != nil {
		http.Error(w, "the provider cannot be reached", http.StatusBadGateway)
		return
	}
	defer func() { _ = answer.Body.Close() }()
	w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
	w.WriteHeader(answer.StatusCode)
	var whole bytes.Buffer
	if _, err := io.Copy(flushing{w}, io.TeeReader(answer.Body, &whole)); err != nil {
		panic(http.ErrAbortHandler) // it broke off, and so does this answer; nothing is stored
	}

	// Store. The sidecar refuses what is not whole, so there is nothing to decide here.
	claim.StoreAsync(r.Context(), askonce.FromOpenAIChat(answer.StatusCode, whole.Bytes()))
}

func (g *gateway) call(r *http.Request, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(r.Context(), "POST", g.upstream+r.URL.Path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+g.key)
	return http.DefaultClient.Do(request)
}

// flushing sends every piece of a stream as it comes.
type flushing struct{ w http.ResponseWriter }

func (f flushing) Write(piece []byte) (int, error) {
	n, err := f.w.Write(piece)
	_ = http.NewResponseController(f.w).Flush()
	return n, err
}

func main() {
	cache, err := askonce.New("127.0.0.1:50051")
	if err != nil {
		log.Fatal(err)
	}
	upstream, key := os.Getenv("UPSTREAM"), os.Getenv("UPSTREAM_KEY")
	tenants := map[string]string{"sk-acme": "acme", "sk-globex": "globex"}
	http.Handle("POST /v1/chat/completions", &gateway{upstream, key, tenants, cache})
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", nil))
}
