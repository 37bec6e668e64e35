package askonce

import (
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"
)

// Breaker says when a client stops asking a sidecar that does not answer, and how it finds out that it is back.
type Breaker struct {
	// Failures is how many failures in a row open it. 0 means 5, below 0 never.
	Failures int
	// Backoff is for how long it stays open at first. It doubles with every failed probe. 0 means 1 s.
	Backoff time.Duration
	// MaxBackoff is for how long it stays open at most. 0 means 30 s.
	MaxBackoff time.Duration
}

// BreakerState is what a breaker lets through.
type BreakerState string

// The states of a breaker.
const (
	BreakerClosed   BreakerState = "closed"    // Every call.
	BreakerOpen     BreakerState = "open"      // No call.
	BreakerHalfOpen BreakerState = "half-open" // One call at a time, to find out.
)

// permit is the leave to make one call. Its end must be told to the breaker that gave it.
type permit struct {
	epoch int
	probe bool
}

// breaker opens after several failures in a row, then lets one probe through now and then. It writes one log line
// per change of state and none per call.
type breaker struct {
	settings Breaker
	log      *slog.Logger
	now      func() time.Time
	jitter   func() float64 // in [0, 1): takes up to a fifth off each wait, so that a fleet does not come back at once

	mu         sync.Mutex
	state      BreakerState
	epoch      int
	failures   int
	openings   int
	retryAt    time.Time
	probeUntil time.Time
}

func newBreaker(settings Breaker, log *slog.Logger) *breaker {
	if settings.Failures == 0 {
		settings.Failures = 5
	}
	if settings.Backoff <= 0 {
		settings.Backoff = time.Second
	}
	if settings.MaxBackoff <= 0 {
		settings.MaxBackoff = 30 * time.Second
	}
	settings.MaxBackoff = max(settings.MaxBackoff, settings.Backoff)
	return &breaker{settings: settings, log: log, now: time.Now, jitter: rand.Float64, state: BreakerClosed}
}

func (b *breaker) current() BreakerState {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state
}

// enter returns the leave to make a call, or false when none may be made.
func (b *breaker) enter() (permit, bool) {
	given, ok, changed := b.ask()
	if changed {
		b.log.Info("askonce: circuit half-open: one call finds out whether the sidecar is back")
	}
	return given, ok
}

func (b *breaker) ask() (given permit, ok, changed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == BreakerClosed {
		return permit{epoch: b.epoch}, true, false
	}
	now := b.now()
	changed = b.state == BreakerOpen
	if changed && now.Before(b.retryAt) || !changed && now.Before(b.probeUntil) {
		return permit{}, false, false
	}
	if changed {
		b.move(BreakerHalfOpen)
	}
	// A probe whose end is never told must not keep the breaker half open for ever.
	b.probeUntil = now.Add(b.settings.MaxBackoff)
	return permit{epoch: b.epoch, probe: true}, true, changed
}

// succeed says that the sidecar answered.
func (b *breaker) succeed(p permit) {
	if b.answered(p) {
		b.log.Warn("askonce: circuit closed: the sidecar answers again")
	}
}

func (b *breaker) answered(p permit) (closed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.epoch != b.epoch {
		return false
	}
	b.failures = 0
	if p.probe {
		b.openings = 0
		b.move(BreakerClosed)
	}
	return p.probe
}

// fail says that the sidecar did not answer, and why, for the log.
func (b *breaker) fail(p permit, why string) {
	wait, failures := b.failed(p)
	if wait > 0 {
		b.log.Warn("askonce: circuit open: the cache is bypassed",
			"for", wait.Round(time.Millisecond), "failures", failures, "last", why)
	}
}

// failed counts a failure and returns for how long the breaker opens because of it, if it does.
func (b *breaker) failed(p permit) (time.Duration, int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.epoch != b.epoch {
		return 0, 0
	}
	b.failures++
	if !p.probe && (b.settings.Failures < 0 || b.failures < b.settings.Failures) {
		return 0, 0
	}
	wait := min(b.settings.Backoff<<b.openings, b.settings.MaxBackoff)
	if wait < b.settings.MaxBackoff {
		b.openings++
	}
	wait -= time.Duration(float64(wait) * b.jitter() / 5)
	b.retryAt = b.now().Add(wait)
	failures := b.failures
	b.move(BreakerOpen)
	return wait, failures
}

// release says that the call ended without telling anything of the sidecar's health.
func (b *breaker) release(p permit) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.probe && p.epoch == b.epoch {
		b.probeUntil = time.Time{}
	}
}

// move changes state. Calls that were let through before have no say any more: the epoch is over.
func (b *breaker) move(state BreakerState) {
	b.state = state
	b.epoch++
	b.probeUntil = time.Time{}
	if state == BreakerClosed {
		b.failures = 0
	}
}
