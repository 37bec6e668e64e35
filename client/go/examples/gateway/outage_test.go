package main

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sort"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	askonce "github.com/askonce/askonce/client/go"
	"github.com/askonce/askonce/client/go/internal/sidecar"
)

const (
	budget    = 50 * time.Millisecond
	perSecond = 1000
	// slack is what a busy machine adds by itself; what must not be there are timeouts that add up.
	slack = time.Second
)

// lines counts the lines that are logged.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(line)
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// outcome is what became of the requests of one phase.
type outcome struct {
	mu     sync.Mutex
	failed int
	took   []time.Duration
}

// drive sends requests at an even pace, a third of them for the same ten answers, and waits for the last one.
func drive(url string, d time.Duration) *outcome {
	result := &outcome{}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}}
	defer client.CloseIdleConnections()
	pace := time.NewTicker(time.Second / perSecond)
	defer pace.Stop()
	var group sync.WaitGroup
	began := time.Now()
	for number := 0; time.Since(began) < d; number++ {
		<-pace.C
		text := fmt.Sprint(began, number)
		if number%3 == 0 {
			text = fmt.Sprint(number % 10)
		}
		group.Go(func() {
			sent := time.Now()
			ok := ask(client, url, text)
			result.mu.Lock()
			defer result.mu.Unlock()
			if !ok {
				result.failed++
			}
			result.took = append(result.took, time.Since(sent))
		})
	}
	group.Wait()
	return result
}

func ask(client *http.Client, url, text string) bool {
	body := fmt.Sprintf(`{"model":"smart","messages":[{"role":"user","content":%q}]}`, text)
	request, err := http.NewRequest(http.MethodPost, url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return false
	}
	request.Header.Set("Authorization", "Bearer sk-acme")
	answer, err := client.Do(request)
	if err != nil {
		return false
	}
	defer func() { _ = answer.Body.Close() }()
	said, err := io.ReadAll(answer.Body)
	return err == nil && answer.StatusCode == http.StatusOK && bytes.Contains(said, []byte("Paris."))
}

// TestNobodyNoticesThatTheSidecarIsUnwell: killed, restarted and stopped under load, it costs no request, no more than
// its budget, and few lines of log.
func TestNobodyNoticesThatTheSidecarIsUnwell(t *testing.T) {
	server := sidecar.Start(t, []any{map[string]any{
		"id": "everything", "scope": []string{"tenant"}, "eligibility": map[string]any{"sampling": "all"},
	}})
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"choices":[{"finish_reason":"stop","message":{"content":"Paris."}}]}`)
	}))
	defer provider.Close()
	var logged lines
	cache, err := askonce.New(server.Target,
		askonce.WithBudget(budget), askonce.WithLogger(slog.New(slog.NewTextHandler(&logged, nil))))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cache.Close() }()
	gateway := httptest.NewServer(newGateway(&Config{
		Keys:      map[string]string{"sk-acme": "acme"},
		Providers: map[string]Provider{"openai": {Dialect: "openai", URL: provider.URL}},
		Routes:    map[string][]Route{"smart": {{Provider: "openai", Model: "gpt-4o"}}},
	}, cache))
	defer gateway.Close()

	began := time.Now()
	for _, phase := range []struct {
		name   string
		before func()
	}{
		{"well", func() {}},
		{"killed", server.Kill},
		{"restarted", server.Run},
		{"stopped", func() { server.Signal(syscall.SIGSTOP) }},
		{"going on", func() { server.Signal(syscall.SIGCONT) }},
	} {
		phase.before()
		result := drive(gateway.URL, 1500*time.Millisecond)
		sort.Slice(result.took, func(i, j int) bool { return result.took[i] < result.took[j] })
		slowest, median := result.took[len(result.took)-1], result.took[len(result.took)/2]
		t.Logf("%s: %d requests, median %s, slowest %s", phase.name, len(result.took), median, slowest)
		if result.failed > 0 {
			t.Errorf("%s: %d requests failed", phase.name, result.failed)
		}
		if slowest > budget+slack {
			t.Errorf("%s: a request took %s", phase.name, slowest)
		}
	}
	for deadline := time.Now().Add(40 * time.Second); cache.BreakerState() != askonce.BreakerClosed; {
		if time.Now().After(deadline) {
			t.Fatal("the breaker does not close again")
		}
		drive(gateway.URL, 100*time.Millisecond)
	}
	text := logged.text()
	if !strings.Contains(text, "circuit open") || !strings.Contains(text, "circuit closed") {
		t.Errorf("the breaker did not open and close:\n%s", text)
	}
	if perSecond := float64(strings.Count(text, "\n")) / time.Since(began).Seconds(); perSecond >= 5 {
		t.Errorf("%.1f log lines a second:\n%s", perSecond, text)
	}
}
