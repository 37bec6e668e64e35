// Command pace sends requests to a gateway at an even pace, and is the provider behind it. It prints its address, then
// reads lines `URL SECONDS` and prints for each, as JSON, what became of the requests. benchmarks/gateways/outages.py
// runs it.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"sort"
	"strings"
	"sync"
	"time"
)

const answer = `{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"Paris."}}]}`

type report struct {
	Sent          int     `json:"sent"`
	Failed        int     `json:"failed"`
	Why           string  `json:"why"` // of one that failed
	PerSecond     float64 `json:"per_second"`
	MedianMillis  float64 `json:"median_ms"`
	P99Millis     float64 `json:"p99_ms"`
	SlowestMillis float64 `json:"slowest_ms"`
}

func main() {
	perSecond := flag.Int("rate", 1000, "how many requests a second")
	key := flag.String("key", "sk-acme", "the API key")
	flag.Parse()
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
	defer provider.Close()
	fmt.Println(provider.URL)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var url string
		var seconds float64
		if _, err := fmt.Sscan(lines.Text(), &url, &seconds); err != nil {
			log.Fatal(err)
		}
		took := drive(client, url+"/v1/chat/completions", *key, *perSecond, seconds)
		if err := json.NewEncoder(os.Stdout).Encode(took); err != nil {
			log.Fatal(err)
		}
	}
}

// drive sends requests when they are due, whatever became of those before: a third of them for the same ten answers.
func drive(client *http.Client, url, key string, perSecond int, seconds float64) report {
	var mu sync.Mutex
	var group sync.WaitGroup
	var took []time.Duration
	var result report
	began, total := time.Now(), int(float64(perSecond)*seconds)
	for number := range total {
		due := began.Add(time.Duration(number) * time.Second / time.Duration(perSecond))
		time.Sleep(time.Until(due))
		text := fmt.Sprint(began, number)
		if number%3 == 0 {
			text = fmt.Sprint(number % 10)
		}
		group.Go(func() {
			err := ask(client, url, key, text)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				result.Failed++
				result.Why = err.Error()
			}
			took = append(took, time.Since(due)) // from when it was due: a wait to be sent counts
		})
	}
	group.Wait()
	sort.Slice(took, func(i, j int) bool { return took[i] < took[j] })
	at := func(share float64) float64 {
		return float64(took[int(share*float64(len(took)-1))].Microseconds()) / 1000
	}
	result.Sent, result.PerSecond = len(took), float64(len(took))/time.Since(began).Seconds()
	result.MedianMillis, result.P99Millis, result.SlowestMillis = at(.5), at(.99), at(1)
	return result
}

func ask(client *http.Client, url, key, text string) error {
	body := fmt.Sprintf(`{"model":"smart","messages":[{"role":"user","content":%q}]}`, text)
	request, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+key)
	got, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = got.Body.Close() }()
	said, err := io.ReadAll(got.Body)
	if err == nil && (got.StatusCode != http.StatusOK || !bytes.Contains(said, []byte("Paris."))) {
		err = fmt.Errorf("%s: %s", got.Status, said)
	}
	return err
}
