package askonce

import (
	"crypto/tls"
	"log/slog"
	"time"

	"google.golang.org/grpc"
)

const (
	defaultBudget = 50 * time.Millisecond
	// defaultStoreTimeout is above the sidecar's own write timeout of 2 s.
	defaultStoreTimeout = 2500 * time.Millisecond
)

// settings is how a client behaves.
type settings struct {
	budget       time.Duration
	storeTimeout time.Duration
	strict       bool
	breaker      Breaker
	log          *slog.Logger
	tls          *tls.Config
	targets      []string
	channels     int
	admin        string
	coalescing   bool
	telemetry    bool
	dial         []grpc.DialOption
}

func defaults() settings {
	return settings{
		budget:       defaultBudget,
		storeTimeout: defaultStoreTimeout,
		channels:     1,
		coalescing:   true,
		telemetry:    true,
	}
}

// Option changes how a Client behaves.
type Option func(*settings)

// WithBudget says how long a Lookup may take, connecting included. The default is 50 ms.
func WithBudget(budget time.Duration) Option { return func(s *settings) { s.budget = budget } }

// WithStoreTimeout says how long every other call may take. The default is 2.5 s.
func WithStoreTimeout(timeout time.Duration) Option {
	return func(s *settings) { s.storeTimeout = timeout }
}

// WithStrict returns errors instead of failing open. The result beside an error reads as "no cache" all the same.
func WithStrict() Option { return func(s *settings) { s.strict = true } }

// WithBreaker changes when the circuit breaker opens and closes.
func WithBreaker(breaker Breaker) Option { return func(s *settings) { s.breaker = breaker } }

// WithLogger says where the client's few log lines go: one per change of the breaker, and each kind of mistake once.
// The default is slog.Default().
func WithLogger(log *slog.Logger) Option { return func(s *settings) { s.log = log } }

// WithTLS connects over TLS. The default is plain text, for a sidecar on the same machine.
func WithTLS(config *tls.Config) Option { return func(s *settings) { s.tls = config } }

// WithTargets adds targets, for a sidecar with a socket per worker. Calls take turns.
func WithTargets(more ...string) Option {
	return func(s *settings) { s.targets = append(s.targets, more...) }
}

// WithChannels opens several connections per target: at least as many as the sidecar has workers on one TCP port.
func WithChannels(channels int) Option { return func(s *settings) { s.channels = channels } }

// WithAdmin says where the sidecar's admin listener is, for a sidecar whose ordinary listener does not answer
// ServerInfo.
func WithAdmin(target string) Option { return func(s *settings) { s.admin = target } }

// WithCoalescing says whether Lookups that arrive while another is in flight go out together when it returns. It is
// on by default, costs a lone Lookup nothing, and leaves out whatever may have to wait for an embedding.
func WithCoalescing(on bool) Option { return func(s *settings) { s.coalescing = on } }

// WithoutTelemetry leaves OpenTelemetry out: no spans, no metrics, and no trace context on the wire.
func WithoutTelemetry() Option { return func(s *settings) { s.telemetry = false } }

// WithDialOptions adds gRPC dial options, which win over this client's own.
func WithDialOptions(options ...grpc.DialOption) Option {
	return func(s *settings) { s.dial = append(s.dial, options...) }
}
