package askonce

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// testBreaker is a breaker on a clock of its own, without jitter.
type testBreaker struct {
	*breaker
	clock time.Time
	lines bytes.Buffer
}

func newTestBreaker(settings Breaker) *testBreaker {
	made := &testBreaker{clock: time.Unix(1000, 0)}
	made.breaker = newBreaker(settings, slog.New(slog.NewTextHandler(&made.lines, nil)))
	made.now = func() time.Time { return made.clock }
	made.jitter = func() float64 { return 0 }
	return made
}

func (b *testBreaker) mustEnter(t *testing.T) permit {
	t.Helper()
	leave, ok := b.enter()
	if !ok {
		t.Fatal("no call was let through")
	}
	return leave
}

func (b *testBreaker) open(t *testing.T) {
	t.Helper()
	for range 5 {
		b.fail(b.mustEnter(t), "why")
	}
}

func TestFailuresInARowOpenTheBreakerAndSuccessesBetweenDoNot(t *testing.T) {
	b := newTestBreaker(Breaker{})
	for range 20 {
		b.fail(b.mustEnter(t), "why")
		b.succeed(b.mustEnter(t))
	}
	if b.current() != BreakerClosed {
		t.Fatal("it opened although every second call succeeded")
	}
	b.open(t)
	if _, ok := b.enter(); ok || b.current() != BreakerOpen {
		t.Fatal("it lets calls through after five failures in a row")
	}
}

func TestOneProbeAtATimeFindsOutAndClosesTheBreaker(t *testing.T) {
	b := newTestBreaker(Breaker{})
	b.open(t)
	b.clock = b.clock.Add(time.Second)
	probe := b.mustEnter(t)
	if _, ok := b.enter(); ok {
		t.Fatal("a second probe was let through")
	}
	b.release(probe) // it told nothing: the next call may probe
	probe = b.mustEnter(t)
	b.succeed(probe)
	if b.current() != BreakerClosed {
		t.Fatal("a probe that succeeds closes it")
	}
}

func TestTheWaitDoublesWithEveryFailedProbeUpToItsMost(t *testing.T) {
	b := newTestBreaker(Breaker{MaxBackoff: 3 * time.Second})
	b.open(t)
	for _, wait := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second} {
		b.clock = b.clock.Add(wait - time.Nanosecond)
		if _, ok := b.enter(); ok {
			t.Fatalf("it lets a call through before %s", wait)
		}
		b.clock = b.clock.Add(time.Nanosecond)
		b.fail(b.mustEnter(t), "why")
	}
}

func TestACallFromBeforeAChangeHasNoSay(t *testing.T) {
	b := newTestBreaker(Breaker{})
	early := b.mustEnter(t)
	b.open(t)
	b.succeed(early)
	if b.current() != BreakerOpen {
		t.Fatal("a call that began before it opened closed it")
	}
}

func TestALostProbeDoesNotKeepItHalfOpenForEver(t *testing.T) {
	b := newTestBreaker(Breaker{})
	b.open(t)
	b.clock = b.clock.Add(time.Second)
	b.mustEnter(t)
	b.clock = b.clock.Add(30 * time.Second)
	b.mustEnter(t)
}

func TestBelowZeroFailuresNeverOpenIt(t *testing.T) {
	b := newTestBreaker(Breaker{Failures: -1})
	for range 100 {
		b.fail(b.mustEnter(t), "why")
	}
}

func TestOneLineIsLoggedPerChangeAndNonePerCall(t *testing.T) {
	b := newTestBreaker(Breaker{})
	for range 3 {
		b.open(t)
		for range 100 {
			b.enter()
		}
		b.clock = b.clock.Add(time.Minute)
		b.succeed(b.mustEnter(t))
	}
	lines := strings.Split(strings.TrimSpace(b.lines.String()), "\n")
	if len(lines) != 9 {
		t.Fatalf("%d lines for nine changes:\n%s", len(lines), b.lines.String())
	}
}
