package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	askonce "github.com/askonce/askonce/client/go"
)

// Config is the gateway's configuration; gateway.json beside this file is one.
type Config struct {
	// Listen is the address to listen on.
	Listen string `json:"listen"`
	// Sidecar is where AskOnce listens.
	Sidecar string `json:"sidecar"`
	// Budget is how many milliseconds a Lookup may take; left out, the client's default of 50.
	Budget int `json:"budget_ms"`
	// StoreTimeout is how many milliseconds a Store may take, after the caller has its answer; left out, the client's
	// default of 2500.
	StoreTimeout int `json:"store_timeout_ms"`
	// Keys says which tenant an API key of this gateway belongs to.
	Keys map[string]string `json:"keys"`
	// Providers are the upstreams, by name.
	Providers map[string]Provider `json:"providers"`
	// Routes says where the models that callers name go: to the first target, and to the next ones while that fails.
	Routes map[string][]Route `json:"routes"`
	// ReplayPause paces stored streams: how many milliseconds pass between two of their frames.
	ReplayPause int `json:"replay_pause_ms"`
}

// Provider is an upstream.
type Provider struct {
	// Dialect is openai or anthropic.
	Dialect string `json:"dialect"`
	// URL is what comes before /v1.
	URL string `json:"url"`
	// KeyEnv names the environment variable that holds the provider's API key.
	KeyEnv string `json:"key_env"`
	key    string
}

// Route is one target of a route, with its prices in US dollars per million tokens; 0 and 0: unknown.
type Route struct {
	Provider    string  `json:"provider"`
	Model       string  `json:"model"`
	InputPrice  float64 `json:"input_price"`
	OutputPrice float64 `json:"output_price"`
}

func (r Route) target() askonce.Target { return askonce.Target{Provider: r.Provider, Model: r.Model} }

// cost returns what an answer cost; nil when that is not known, which is not nothing.
func (r Route) cost(usage *askonce.Usage) *float64 {
	if usage == nil || r.InputPrice == 0 && r.OutputPrice == 0 {
		return nil
	}
	dollars := (float64(usage.InputTokens)*r.InputPrice + float64(usage.OutputTokens)*r.OutputPrice) / 1e6
	return &dollars
}

func (c *Config) options() []askonce.Option {
	var options []askonce.Option
	if c.Budget != 0 {
		options = append(options, askonce.WithBudget(time.Duration(c.Budget)*time.Millisecond))
	}
	if c.StoreTimeout != 0 {
		options = append(options, askonce.WithStoreTimeout(time.Duration(c.StoreTimeout)*time.Millisecond))
	}
	return options
}

func (c *Config) replayPause() time.Duration { return time.Duration(c.ReplayPause) * time.Millisecond }

func readConfig(path string) (*Config, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var config Config
	if err := json.Unmarshal(raw, &config); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for name, provider := range config.Providers {
		provider.key = os.Getenv(provider.KeyEnv)
		config.Providers[name] = provider
	}
	for alias, routes := range config.Routes {
		for _, route := range routes {
			if _, ok := config.Providers[route.Provider]; !ok {
				return nil, fmt.Errorf("%s: the route %q goes to %q, which is no provider", path, alias, route.Provider)
			}
		}
	}
	return &config, nil
}
