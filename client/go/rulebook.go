package askonce

import (
	"context"
	"sort"
	"strings"
	"sync"
	"time"
)

const (
	// rulesAge is how long what the sidecar said of its rules is believed: it may be configured anew.
	rulesAge = time.Minute
	// mostKinds bounds what is remembered of requests.
	mostKinds = 4096
)

// rulebook knows which requests never wait for an embedding: those whose rule, as ServerInfo says, has only
// deterministic matchers. Which rule a kind of request has is learnt from its decisions. What is not known counts as
// waiting; a belief that is out of date costs time, never a wrong answer.
type rulebook struct {
	client *Client

	mu    sync.Mutex
	asked time.Time
	known bool
	all   bool            // every rule is deterministic
	rules map[string]bool // by id
	kinds map[string]bool // by kind of request: whether every rule that it was seen under is deterministic
}

// kindOfRequest returns everything of a descriptor that a rule can match on, save what only its body says.
func kindOfRequest(d *Descriptor) string {
	var kind strings.Builder
	for _, part := range []string{d.Dialect, d.Endpoint, d.Served.Provider, d.Served.Model} {
		kind.WriteString(part)
		kind.WriteByte(0)
	}
	for _, members := range []map[string]string{d.Scope, d.Attributes} {
		names := make([]string, 0, len(members))
		for name := range members {
			names = append(names, name)
		}
		sort.Strings(names)
		for _, name := range names {
			kind.WriteString(name + "\x00" + members[name] + "\x00")
		}
		kind.WriteByte(1)
	}
	return kind.String()
}

// deterministic says whether no request of this one's kind waits for an embedding. It never waits for the sidecar:
// while nothing is known, the answer is no.
func (b *rulebook) deterministic(ctx context.Context, d *Descriptor) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := time.Now(); now.Sub(b.asked) > rulesAge {
		b.asked = now
		go b.refresh(context.WithoutCancel(ctx))
	}
	return b.known && (b.all || b.kinds[kindOfRequest(d)])
}

func (b *rulebook) refresh(ctx context.Context) {
	info, failed := b.client.serverInfo(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.known, b.all = failed == nil, true
	if failed != nil {
		return
	}
	b.rules = map[string]bool{"": true} // no rule, no embedding
	for _, rule := range info.Rules {
		b.rules[rule.ID] = rule.Deterministic()
		b.all = b.all && rule.Deterministic()
	}
	b.kinds = map[string]bool{}
}

// learn remembers under which rule a request was decided.
func (b *rulebook) learn(d *Descriptor, rule string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.known || b.all {
		return
	}
	if len(b.kinds) >= mostKinds {
		b.kinds = map[string]bool{}
	}
	kind := kindOfRequest(d)
	before, seen := b.kinds[kind]
	b.kinds[kind] = b.rules[rule] && (before || !seen)
}
