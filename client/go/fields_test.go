package askonce_test

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// assertAllSet fails for every field of the message, and of the messages in it, that is not set: one that was added
// to the contract and that the client does not know yet.
func assertAllSet(t *testing.T, message protoreflect.Message, except ...string) {
	t.Helper()
	fields := message.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		if slices.Contains(except, string(field.Name())) {
			continue
		}
		if !message.Has(field) {
			t.Errorf("%s is not set", field.FullName())
			continue
		}
		ours := field.Message() != nil && field.Message().ParentFile().Package() == "askonce.v1"
		if ours && !field.IsMap() && !field.IsList() {
			assertAllSet(t, message.Get(field).Message(), except...)
		}
	}
}
