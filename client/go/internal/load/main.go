// Command load asks a sidecar for exact hits through the client, from so many goroutines at once, and prints how many
// it got, how fast, and how many went wrong, as JSON. benchmarks/gateways/coalescing.py runs it.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	askonce "github.com/askonce/askonce/client/go"
)

const distinct = 1000

type report struct {
	Hits      int     `json:"hits"`
	CPU       float64 `json:"cpu_seconds"` // of the sidecar
	Others    int     `json:"others"`
	Seconds   float64 `json:"seconds"`
	P50Micros int64   `json:"p50_us"`
	P99Micros int64   `json:"p99_us"`
}

func main() {
	target := flag.String("target", "", "the sidecar")
	inFlight := flag.Int("in-flight", 1, "how many Lookups are in flight")
	coalescing := flag.Bool("coalescing", true, "whether they gather")
	seconds := flag.Float64("seconds", 3, "for how long")
	pid := flag.Int("pid", 0, "the process of the sidecar, whose CPU time is read")
	flag.Parse()
	client, err := askonce.New(*target,
		askonce.WithCoalescing(*coalescing), askonce.WithBudget(30*time.Second), askonce.WithStoreTimeout(30*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	fill(client)
	measure(client, *inFlight, time.Second/2) // connections, and what rules there are
	before := cpuSeconds(*pid)
	took := measure(client, *inFlight, time.Duration(*seconds*float64(time.Second)))
	took.CPU = cpuSeconds(*pid) - before
	if err := json.NewEncoder(os.Stdout).Encode(took); err != nil {
		log.Fatal(err)
	}
}

// cpuSeconds returns the CPU time, user and system, of a process so far: fields 14 and 15 of proc(5), in hundredths.
func cpuSeconds(pid int) float64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:])) // the name before may hold spaces
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return float64(user+system) / 100
}

// request is a chat of about 1.5 kB.
func request(number int) askonce.Descriptor {
	text := fmt.Sprintf("Question %d. %s", number, strings.Repeat("Lorem ipsum dolor sit amet. ", 50))
	body, _ := json.Marshal(map[string]any{ // these are strings and numbers
		"model": "gpt-4o", "temperature": 0, "messages": []any{map[string]string{"role": "user", "content": text}},
	})
	served := askonce.Target{Provider: "openai", Model: "gpt-4o"}
	return askonce.OpenAIChat(body, served, askonce.Scope{"tenant": "acme"})
}

func fill(client *askonce.Client) {
	answer := `{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"Paris."}}]}`
	var stores []askonce.StoreRequest
	for number := range distinct {
		response := askonce.FromOpenAIChat(200, []byte(answer))
		stores = append(stores, askonce.StoreRequest{Source: request(number), Response: response})
		if len(stores) == 100 {
			for _, stored := range must(client.BatchStore(context.Background(), stores)) {
				if !stored.Stored() {
					log.Fatal(stored.RefusalReason, stored.Err)
				}
			}
			stores = nil
		}
	}
}

func measure(client *askonce.Client, inFlight int, d time.Duration) report {
	requests := make([]askonce.Descriptor, distinct)
	for number := range requests {
		requests[number] = request(number)
	}
	began := time.Now()
	deadline := began.Add(d)
	took := make([][]time.Duration, inFlight)
	others := make([]int, inFlight)
	var group sync.WaitGroup
	for worker := range inFlight {
		group.Go(func() {
			for number := worker * 7919; time.Now().Before(deadline); number++ {
				asked := time.Now()
				decision := must(client.Lookup(context.Background(), requests[number%distinct]))
				if decision.Hit() {
					took[worker] = append(took[worker], time.Since(asked))
				} else {
					others[worker]++
				}
			}
		})
	}
	group.Wait()
	result := report{Seconds: time.Since(began).Seconds()}
	var all []time.Duration
	for worker := range inFlight {
		all = append(all, took[worker]...)
		result.Others += others[worker]
	}
	sort.Slice(all, func(i, j int) bool { return all[i] < all[j] })
	result.Hits = len(all)
	if len(all) > 0 {
		result.P50Micros, result.P99Micros = all[len(all)/2].Microseconds(), all[len(all)*99/100].Microseconds()
	}
	return result
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
