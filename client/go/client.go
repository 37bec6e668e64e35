package askonce

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	pb "github.com/askonce/askonce/client/go/gen/askonce/v1"
)

// Client is a client of one sidecar. It is safe for concurrent use; make one per process and keep it.
//
// It fails open: unless WithStrict was given, no verb returns an error. A sidecar that is down, slow or broken gives
// a bypass, or a refusal, whose Err says why.
type Client struct {
	settings  settings
	stub      pb.DecisionServiceClient
	info      pb.AdminServiceClient
	breaker   *breaker
	mistakes  *mistakes
	rulebook  *rulebook
	gathering *gathering
	inFlight  atomic.Int64 // Lookups
	fills     *fills
	close     func() error
	closed    atomic.Bool
}

// New makes a client of the sidecar at target, unix:///path or host:port. The first call connects.
func New(target string, options ...Option) (*Client, error) {
	s := defaults()
	for _, option := range options {
		option(&s)
	}
	if target == "" || s.channels < 1 {
		return nil, errors.New("askonce: there must be a target, such as unix:///run/askonce/askonce.sock, and a channel")
	}
	opened, err := dial(append([]string{target}, s.targets...), &s)
	if err != nil {
		return nil, fmt.Errorf("askonce: %w", err)
	}
	if s.admin == "" {
		return newClient(opened, opened, s, opened.close)
	}
	admin, err := dial([]string{s.admin}, &s)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("askonce: %w", err), opened.close())
	}
	return newClient(opened, admin, s, func() error { return errors.Join(opened.close(), admin.close()) })
}

// NewWithConn makes a client over a connection of your own, which Close leaves open. Options that say how to connect
// do nothing.
func NewWithConn(conn grpc.ClientConnInterface, options ...Option) (*Client, error) {
	s := defaults()
	for _, option := range options {
		option(&s)
	}
	return newClient(conn, conn, s, func() error { return nil })
}

func newClient(conn, admin grpc.ClientConnInterface, s settings, closing func() error) (*Client, error) {
	if s.budget <= 0 || s.storeTimeout <= 0 {
		return nil, errors.Join(errors.New("askonce: budget and store timeout must be above 0"), closing())
	}
	if s.log == nil {
		s.log = slog.Default()
	}
	client := &Client{
		settings: s,
		stub:     pb.NewDecisionServiceClient(conn),
		info:     pb.NewAdminServiceClient(admin),
		breaker:  newBreaker(s.breaker, s.log),
		mistakes: &mistakes{log: s.log, said: map[string]bool{}},
		fills:    newFills(),
		close:    closing,
	}
	client.rulebook = &rulebook{client: client, kinds: map[string]bool{}}
	client.gathering = &gathering{client: client, lanes: s.channels * (1 + len(s.targets))}
	return client, nil
}

// BreakerState returns what the circuit breaker lets through now; good to export as a metric.
func (c *Client) BreakerState() BreakerState { return c.breaker.current() }

// Close closes the connections. Calls in flight end as bypasses; so does every later one.
func (c *Client) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	return c.close()
}

// ask makes one call, if the breaker lets it, and tells the breaker how it ended.
func (c *Client) ask(ctx context.Context, timeout time.Duration, call func(context.Context) error) *Error {
	if c.closed.Load() {
		return failure(ErrClosed, "the client is closed")
	}
	if cause := ctx.Err(); cause != nil {
		return failure(ErrCallerGone, cause.Error())
	}
	if timeout <= 0 {
		return failure(ErrBudgetExceeded, "no time was left to ask the sidecar")
	}
	leave, ok := c.breaker.enter()
	if !ok {
		return failure(ErrCircuitOpen, "the sidecar failed too often just now and was not asked")
	}
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := call(bounded)
	if err == nil {
		c.breaker.succeed(leave)
		return nil
	}
	failed := errorOf(ctx, err)
	if c.closed.Load() && failed.Code == "CANCELLED" {
		failed = failure(ErrClosed, "the client was closed during the call")
	}
	c.judge(leave, failed)
	return failed
}

func (c *Client) judge(leave permit, failed *Error) {
	switch {
	case failed.ailing():
		c.breaker.fail(leave, forTheLog(failed))
	case failed.Code != "" && failed.Kind != ErrTooLarge:
		// A refusal is an answer: the sidecar is there. Only what this side may have made by itself (no status at
		// all, or a size limit of its own) says nothing.
		c.breaker.succeed(leave)
	default:
		c.breaker.release(leave)
	}
}

// forTheLog describes a failure without what a server may have quoted from the request.
func forTheLog(failed *Error) string {
	name := failed.Code
	if name == "" {
		name = failed.Kind.Error()
	}
	if failed.Kind == ErrUnreachable {
		return name + ": " + shortened(failed.Message)
	}
	return name
}

// given reports a failure and returns the error that the caller gets: none, unless the client is strict.
func (c *Client) given(failed *Error) error {
	c.mistakes.report(failed)
	if c.settings.strict {
		return failed
	}
	return nil
}
