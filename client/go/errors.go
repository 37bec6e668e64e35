package askonce

import (
	"errors"
	"fmt"
	"strings"
)

// The kinds of failure between a gateway and its sidecar, for errors.Is. Unless the client is strict they are
// never returned: they stand in the Err of a result that reads as "no cache".
var (
	// ErrUnreachable: nobody listens at the target, the connection broke, or the sidecar is going down.
	ErrUnreachable = errors.New("the sidecar cannot be reached")
	// ErrBudgetExceeded: the sidecar did not answer in time.
	ErrBudgetExceeded = errors.New("the sidecar did not answer in time")
	// ErrSidecarFailed: the sidecar answered with a fault, or with what is not an answer.
	ErrSidecarFailed = errors.New("the sidecar failed")
	// ErrCircuitOpen: the sidecar failed too often just now, so it was not asked.
	ErrCircuitOpen = errors.New("the circuit is open")
	// ErrCallRefused: the sidecar refused the call itself: not allowed, or a method that it does not have.
	ErrCallRefused = errors.New("the call was refused")
	// ErrInvalidRequest: the request breaks the contract; Violations names every bad field. An ErrCallRefused.
	ErrInvalidRequest = fmt.Errorf("the request is invalid: %w", ErrCallRefused)
	// ErrTooLarge: the request, or the answer, is larger than a limit. An ErrCallRefused.
	ErrTooLarge = fmt.Errorf("too large: %w", ErrCallRefused)
	// ErrClosed: the client was closed.
	ErrClosed = errors.New("the client is closed")
	// ErrCallerGone: the caller's own context ended first. Says nothing of the sidecar.
	ErrCallerGone = errors.New("the caller's context ended")
	// ErrClientFault: this client has a bug.
	ErrClientFault = errors.New("the client has a bug")
)

// localReason is the BypassReason and RefusalReason of a result that carries an error of the kind.
var localReason = map[error]int32{
	ErrUnreachable: -2, ErrBudgetExceeded: -3, ErrSidecarFailed: -4, ErrCircuitOpen: -5, ErrCallRefused: -6,
	ErrInvalidRequest: -6, ErrTooLarge: -6, ErrClosed: -7, ErrClientFault: -8, ErrCallerGone: -10,
}

// Violation is one bad field: its path as in the contract, and what is wrong and how to mend it.
type Violation struct {
	Field       string
	Description string
}

// Error is a call that brought no usable answer.
type Error struct {
	// Kind is one of the Err variables of this package; errors.Is finds it.
	Kind error
	// Code is the name of the gRPC status code, such as UNAVAILABLE; empty when the sidecar was not asked.
	Code string
	// Message says what happened, for people.
	Message string
	// Reason is the stable upper-case reason of the sidecar's ErrorInfo; empty when it gave none.
	Reason string
	// Metadata is what that ErrorInfo says besides.
	Metadata map[string]string
	// Violations lists every bad field.
	Violations []Violation
}

// Error describes the failure with its code and its fields.
func (e *Error) Error() string {
	text := "askonce: " + e.Message
	if e.Code != "" {
		text = "askonce: " + e.Code + ": " + e.Message
	}
	var fields []string
	for _, violation := range e.Violations {
		if !strings.Contains(e.Message, violation.Description) {
			fields = append(fields, violation.Field+": "+violation.Description)
		}
	}
	if len(fields) > 0 {
		text += " (" + strings.Join(fields, "; ") + ")"
	}
	return text
}

// Unwrap returns the kind of the failure.
func (e *Error) Unwrap() error { return e.Kind }

// ailing says whether the failure is one of the sidecar's health. Such failures open the circuit breaker.
func (e *Error) ailing() bool {
	return e.Kind == ErrUnreachable || e.Kind == ErrBudgetExceeded || e.Kind == ErrSidecarFailed
}

func failure(kind error, message string) *Error { return &Error{Kind: kind, Message: message} }

func invalid(violations ...Violation) *Error {
	return &Error{Kind: ErrInvalidRequest, Message: "the request cannot be encoded", Violations: violations}
}
