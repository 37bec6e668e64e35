package askonce

import (
	"context"
	"errors"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/askonce/askonce/client/go/gen/askonce/v1"
)

// kinds says what the sidecar's status codes stand for; every other code is a fault of the sidecar.
var kinds = map[codes.Code]error{
	codes.Unavailable:        ErrUnreachable,
	codes.DeadlineExceeded:   ErrBudgetExceeded,
	codes.InvalidArgument:    ErrInvalidRequest,
	codes.FailedPrecondition: ErrInvalidRequest,
	codes.OutOfRange:         ErrInvalidRequest,
	codes.ResourceExhausted:  ErrTooLarge,
	codes.Unimplemented:      ErrCallRefused,
	codes.Unauthenticated:    ErrCallRefused,
	codes.PermissionDenied:   ErrCallRefused,
	codes.NotFound:           ErrCallRefused,
}

var codeNames = map[codes.Code]string{
	codes.Canceled: "CANCELLED", codes.Unknown: "UNKNOWN", codes.InvalidArgument: "INVALID_ARGUMENT",
	codes.DeadlineExceeded: "DEADLINE_EXCEEDED", codes.NotFound: "NOT_FOUND",
	codes.AlreadyExists: "ALREADY_EXISTS", codes.PermissionDenied: "PERMISSION_DENIED",
	codes.ResourceExhausted: "RESOURCE_EXHAUSTED", codes.FailedPrecondition: "FAILED_PRECONDITION",
	codes.Aborted: "ABORTED", codes.OutOfRange: "OUT_OF_RANGE", codes.Unimplemented: "UNIMPLEMENTED",
	codes.Internal: "INTERNAL", codes.Unavailable: "UNAVAILABLE", codes.DataLoss: "DATA_LOSS",
	codes.Unauthenticated: "UNAUTHENTICATED",
}

// errorOf returns the error that a failed call stands for. caller is the context that the call was given, without
// the client's own deadline: when it is over, the call says nothing of the sidecar.
func errorOf(caller context.Context, err error) *Error {
	if cause := caller.Err(); cause != nil {
		return failure(ErrCallerGone, cause.Error())
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return failure(ErrBudgetExceeded, "no time was left to ask the sidecar")
	}
	said, ok := status.FromError(err)
	if !ok {
		return failure(ErrClientFault, "the call could not be made")
	}
	failed := &Error{Kind: kindOf(said.Code()), Code: codeNames[said.Code()], Message: messageOf(said.Message())}
	for _, detail := range said.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			failed.Reason, failed.Metadata = detail.GetReason(), detail.GetMetadata()
		case *errdetails.BadRequest:
			for _, field := range detail.GetFieldViolations() {
				failed.Violations = append(failed.Violations, Violation{field.GetField(), field.GetDescription()})
			}
		}
	}
	return failed
}

// errorOfItem returns the error of one item of a batch: the one that the single call would have had.
func errorOfItem(item *pb.ItemError) *Error {
	code := codes.Code(item.GetCode())
	name := codeNames[code]
	if name == "" {
		name = "UNKNOWN"
	}
	failed := &Error{Kind: kindOf(code), Code: name, Message: messageOf(item.GetMessage()), Reason: item.GetReason()}
	for _, field := range item.GetViolations() {
		failed.Violations = append(failed.Violations, Violation{field.GetField(), field.GetDescription()})
	}
	return failed
}

func kindOf(code codes.Code) error {
	if kind, ok := kinds[code]; ok {
		return kind
	}
	return ErrSidecarFailed
}

func messageOf(said string) string {
	if said == "" {
		return "no reason was given"
	}
	return said
}
