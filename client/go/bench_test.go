package askonce_test

import (
	"fmt"
	"testing"

	askonce "github.com/askonce/askonce/client/go"
)

// BenchmarkLookupAlone is what a lone Lookup costs on this side, with gathering and without.
func BenchmarkLookupAlone(b *testing.B) {
	for _, on := range []bool{false, true} {
		b.Run(fmt.Sprintf("coalescing=%t", on), func(b *testing.B) {
			fake := patient(askonce.WithCoalescing(on))
			descriptor := hello("hi")
			for b.Loop() {
				_, _ = fake.Lookup(b.Context(), descriptor)
			}
		})
	}
}
