package askonce

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

const maxAnswerBytes = 16 << 20

// channels are connections that calls take in turn.
type channels struct {
	all  []*grpc.ClientConn
	next atomic.Uint32
}

var _ grpc.ClientConnInterface = (*channels)(nil)

func dial(targets []string, s *settings) (*channels, error) {
	opened := &channels{}
	for _, target := range targets {
		for range s.channels {
			channel, err := grpc.NewClient(target, dialOptions(target, s)...)
			if err != nil {
				return nil, errors.Join(err, opened.close())
			}
			opened.all = append(opened.all, channel)
		}
	}
	return opened, nil
}

// dialOptions are for a sidecar on the same machine, so what helps across the internet is off.
func dialOptions(target string, s *settings) []grpc.DialOption {
	secrets := insecure.NewCredentials()
	if s.tls != nil {
		secrets = credentials.NewTLS(s.tls)
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(secrets),
		// The sidecar names its own limits with a reason; the client only has to stay above them.
		grpc.WithDefaultCallOptions(
			grpc.MaxCallSendMsgSize(math.MaxInt32), grpc.MaxCallRecvMsgSize(maxAnswerBytes)),
		// A gateway's HTTP_PROXY is for its providers, and no DNS record has a say in how the sidecar is called.
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		// A restarted sidecar is back within milliseconds; the default waits up to two minutes.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{
				BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 500 * time.Millisecond,
			},
			MinConnectTimeout: time.Second,
		}),
		// Connecting anew after a quiet half hour would cost a Lookup part of its budget.
		grpc.WithIdleTimeout(0),
		// Only while calls are in flight, and rarely enough for a server's default ping policy. What it buys is
		// TCP_USER_TIMEOUT: a peer that vanished without a word is found out in seconds.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: time.Minute, Timeout: 5 * time.Second}),
	}
	if strings.HasPrefix(target, "unix") {
		// Else some versions send the percent-encoded path as :authority, which strict peers refuse.
		options = append(options, grpc.WithAuthority("localhost"))
	}
	if s.telemetry {
		options = append(options, grpc.WithStatsHandler(otelgrpc.NewClientHandler()))
	}
	return append(options, s.dial...)
}

// Invoke makes a call on the connection whose turn it is.
func (c *channels) Invoke(
	ctx context.Context, method string, args, reply any, options ...grpc.CallOption,
) error {
	return c.turn().Invoke(ctx, method, args, reply, options...)
}

// NewStream opens a stream on the connection whose turn it is.
func (c *channels) NewStream(
	ctx context.Context, desc *grpc.StreamDesc, method string, options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	return c.turn().NewStream(ctx, desc, method, options...)
}

func (c *channels) turn() *grpc.ClientConn {
	if len(c.all) == 1 {
		return c.all[0]
	}
	return c.all[c.next.Add(1)%uint32(len(c.all))]
}

func (c *channels) close() error {
	var failed []error
	for _, channel := range c.all {
		failed = append(failed, channel.Close())
	}
	return errors.Join(failed...)
}
