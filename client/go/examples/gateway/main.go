// Command gateway is an LLM gateway that asks AskOnce before it calls a provider: a reverse proxy for OpenAI's and
// Anthropic's APIs, small enough to read in one sitting and to begin your own with.
//
// Read gateway.go first: it is the path of a request. config.go says who may call and where to; controls.go what
// callers may ask of the cache; upstream.go calls the provider; reply.go answers from the cache; tracing.go is all that
// OpenTelemetry needs.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"net"
	"net/http"
	"os/signal"
	"syscall"
	"time"

	askonce "github.com/askonce/askonce/client/go"
)

func main() {
	path := flag.String("config", "gateway.json", "the configuration")
	flag.Parse()
	if err := run(*path); err != nil {
		log.Fatal(err)
	}
}

func run(path string) error {
	config, err := readConfig(path)
	if err != nil {
		return err
	}
	stopTracing, err := startTracing(context.Background())
	if err != nil {
		return err
	}
	defer func() {
		grace, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = stopTracing(grace)
	}()
	cache, err := askonce.New(config.Sidecar, config.options()...)
	if err != nil {
		return err
	}
	defer func() { _ = cache.Close() }()
	listener, err := net.Listen("tcp", config.Listen)
	if err != nil {
		return err
	}
	log.Printf("gateway: listening on %s", listener.Addr())
	server := &http.Server{Handler: traced(newGateway(config, cache)), ReadHeaderTimeout: 10 * time.Second}
	ended, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	go func() {
		<-ended.Done()
		grace, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		_ = server.Shutdown(grace)
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
