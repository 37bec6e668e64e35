package askonce

import (
	"log/slog"
	"strings"
	"sync"
)

const mostMistakes = 64

// mistakes logs each kind of mistake once, and never a request's text: mistakes do not mend themselves. An ailing
// sidecar is the breaker's to log.
type mistakes struct {
	log  *slog.Logger
	mu   sync.Mutex
	said map[string]bool
}

// report logs a failure unless one of its kind was logged before. It says the fields' names, not what is wrong
// with them: a message may quote what was sent.
func (m *mistakes) report(f *Error) {
	if f.ailing() || f.Kind == ErrCircuitOpen || f.Kind == ErrCallerGone {
		return
	}
	var fields []string
	for _, violation := range f.Violations {
		fields = append(fields, violation.Field)
	}
	named := shortened(strings.Join(fields, ", "))
	key := strings.Join([]string{f.Kind.Error(), f.Code, f.Reason, named}, "\x00")
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.said[key] || len(m.said) >= mostMistakes {
		return
	}
	m.said[key] = true
	m.log.Warn("askonce: the cache is bypassed (said once; the result's Err has the details)",
		"kind", f.Kind.Error(), "code", f.Code, "reason", f.Reason, "fields", named)
}

func shortened(text string) string {
	const most = 200
	if len(text) > most {
		return text[:most]
	}
	return text
}
