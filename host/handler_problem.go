package host

import (
	"encoding/json"
	"errors"
	"net/http"
)

// MediaProblem is the media type of an error body (RFC 9457).
const MediaProblem = "application/problem+json"

// Problem is the body of every failed request of the HTTP API, as RFC 9457
// lays it out. Code is what a program decides by; the texts are for a person.
type Problem struct {
	// Type is a URI made of the code; it names the kind of problem.
	Type string `json:"type"`
	// Title is the HTTP status in words.
	Title string `json:"title"`
	// Status is the HTTP status.
	Status int `json:"status"`
	// Detail says what exactly was wrong.
	Detail string `json:"detail,omitempty"`
	// Code is the stable code, one of those that listCodes returns.
	Code Code `json:"code"`
	// Advice says what to do. It is left out where the detail says it.
	Advice string `json:"advice,omitempty"`
	// Field names the offending member of the request: a path such as
	// "content[0].type", a parameter or a header.
	Field string `json:"field,omitempty"`
}

// ProblemOf describes an error as the HTTP API does. An error without a code,
// which only a broken store can cause, is store_failed.
func ProblemOf(err error) Problem {
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Code: CodeStoreFailed, Detail: sentence(err.Error())}
	}
	status := StatusOf(e.Code)
	p := Problem{
		Type: "urn:ao-host:problem:" + string(e.Code), Title: http.StatusText(status), Status: status,
		Detail: e.Detail, Code: e.Code, Field: e.Field,
	}
	if !e.complete {
		p.Advice = e.Advice()
	}
	return p
}

// Err makes the error again that the problem describes.
func (p Problem) Err() *Error {
	return &Error{Code: p.Code, Detail: p.Detail, Field: p.Field, complete: p.Advice == "" && p.Detail != ""}
}

// statuses are the HTTP statuses of the codes. Those that are told in the journal
// and fail no request are listed too: a table without holes can be checked.
var statuses = map[Code]int{
	CodeInvalidArgument: http.StatusBadRequest,

	CodeUnauthorized: http.StatusUnauthorized,

	CodeAgentOrigin:       http.StatusForbidden,
	CodeForeignRequest:    http.StatusForbidden,
	CodeForeignUser:       http.StatusForbidden,
	CodeBindingNotAllowed: http.StatusForbidden,

	CodeUnknownConversation: http.StatusNotFound,
	CodeUnknownHarness:      http.StatusNotFound,
	CodeUnknownTurn:         http.StatusNotFound,
	CodeUnknownInteraction:  http.StatusNotFound,
	CodeUnknownProposal:     http.StatusNotFound,
	CodeUnknownRoute:        http.StatusNotFound,

	CodeMethodNotAllowed: http.StatusMethodNotAllowed,

	CodeStaleRevision:       http.StatusConflict,
	CodeInteractionStale:    http.StatusConflict,
	CodeInteractionAnswered: http.StatusConflict,
	CodeProposalClosed:      http.StatusConflict,
	CodeTurnNotQueued:       http.StatusConflict,
	CodeTurnChanged:         http.StatusConflict,
	CodeTurnFixed:           http.StatusConflict,
	CodeTurnNotRetryable:    http.StatusConflict,
	CodeRetryRepeatsWork:    http.StatusConflict,
	CodeTurnNotRunning:      http.StatusConflict,
	CodeNothingRunning:      http.StatusConflict,
	CodeUnfinishedWork:      http.StatusConflict,
	CodeClientIDReused:      http.StatusConflict,
	CodeNativeSessionTaken:  http.StatusConflict,
	CodeExitUnproven:        http.StatusConflict,
	CodeStartAborted:        http.StatusConflict,
	CodeUncertainDelivery:   http.StatusConflict,
	CodeHoldStopped:         http.StatusConflict,
	CodeHoldProviderOutage:  http.StatusConflict,
	CodeHoldClosed:          http.StatusConflict,
	CodeHoldDeletion:        http.StatusConflict,
	CodeNotInForce:          http.StatusConflict,
	CodeWorkingDirChanged:   http.StatusConflict,
	CodeRelaunch:            http.StatusConflict,
	CodePermissionDiffers:   http.StatusConflict,

	CodeStoreOlder: http.StatusConflict,

	CodeResync:              http.StatusGone,
	CodeConversationDeleted: http.StatusGone,

	CodeMessageTooLarge: http.StatusRequestEntityTooLarge,
	CodeMediaType:       http.StatusUnsupportedMediaType,

	CodeUnknownMode:        http.StatusUnprocessableEntity,
	CodeUnknownPermission:  http.StatusUnprocessableEntity,
	CodeUnknownModel:       http.StatusUnprocessableEntity,
	CodeUnknownEffort:      http.StatusUnprocessableEntity,
	CodeUnknownOption:      http.StatusUnprocessableEntity,
	CodeAnswerShape:        http.StatusUnprocessableEntity,
	CodeAnswerOption:       http.StatusUnprocessableEntity,
	CodeSecretFollowUp:     http.StatusUnprocessableEntity,
	CodeEmptyMessage:       http.StatusUnprocessableEntity,
	CodeContentUnsupported: http.StatusUnprocessableEntity,
	CodeWorkingDirMissing:  http.StatusUnprocessableEntity,
	CodeWorkingDirNotDir:   http.StatusUnprocessableEntity,
	CodeModuleTruncated:    http.StatusUnprocessableEntity,
	CodeModuleForeign:      http.StatusUnprocessableEntity,
	CodeModuleComponent:    http.StatusUnprocessableEntity,
	CodeModuleInvalid:      http.StatusUnprocessableEntity,
	CodeManifestMissing:    http.StatusUnprocessableEntity,
	CodeManifestInvalid:    http.StatusUnprocessableEntity,
	CodeABIUnsupported:     http.StatusUnprocessableEntity,
	CodeSchemasInvalid:     http.StatusUnprocessableEntity,
	CodeSchemasMissing:     http.StatusUnprocessableEntity,

	CodeStoreReadOnly: http.StatusInternalServerError,
	CodeStoreNewer:    http.StatusInternalServerError,
	CodeStoreCorrupt:  http.StatusInternalServerError,
	CodeStoreFailed:   http.StatusInternalServerError,

	CodeUnsupportedPlatform: http.StatusNotImplemented,

	// The harness or its binding is what failed, not this server.
	CodeHarnessNotFound:    http.StatusBadGateway,
	CodeInterpreterMissing: http.StatusBadGateway,
	CodeLaunchFailed:       http.StatusBadGateway,
	CodeHarnessExited:      http.StatusBadGateway,
	CodeProviderVersion:    http.StatusBadGateway,
	CodeHarnessReplaced:    http.StatusBadGateway,
	CodeSignInNeeded:       http.StatusBadGateway,
	CodeLoginEnv:           http.StatusBadGateway,
	CodeLoginEnvSlow:       http.StatusBadGateway,
	CodeSignInUnproven:     http.StatusBadGateway,
	CodeProviderUnread:     http.StatusBadGateway,
	CodeBindingFault:       http.StatusBadGateway,
	CodeOutboundSchema:     http.StatusBadGateway,
	CodeSessionReplaced:    http.StatusBadGateway,
	CodeStopUnanswered:     http.StatusBadGateway,
	CodeReplyRefused:       http.StatusBadGateway,
	CodeCallRefused:        http.StatusBadGateway,
	CodeSchemaViolation:    http.StatusBadGateway,
	CodeLineSkipped:        http.StatusBadGateway,
	CodeTooManyRequests:    http.StatusBadGateway,
	CodeTooManyCalls:       http.StatusBadGateway,
	CodeDeliveryRejected:   http.StatusBadGateway,
	CodeNotSent:            http.StatusBadGateway,
	CodeUnreachable:        http.StatusBadGateway,
	CodeVersionMismatch:    http.StatusBadGateway,
	CodeSocketUnusable:     http.StatusBadGateway,
	CodeDaemonNotStarted:   http.StatusBadGateway,

	CodeStoreLocked:        http.StatusServiceUnavailable,
	CodeClosed:             http.StatusServiceUnavailable,
	CodeBindingQuarantined: http.StatusServiceUnavailable,

	CodeStartSlow: http.StatusGatewayTimeout,

	CodeDiskLow:   http.StatusInsufficientStorage,
	CodeStoreFull: http.StatusInsufficientStorage,
}

// StatusOf returns the HTTP status of a code.
func StatusOf(c Code) int {
	if s, ok := statuses[c]; ok {
		return s
	}
	return http.StatusInternalServerError
}

// writeProblem answers a request with an error.
func (s *server) writeProblem(w http.ResponseWriter, err error) {
	p := ProblemOf(err)
	b, err := json.Marshal(p)
	if err != nil {
		// Problem has nothing but strings and a number.
		panic("host: encoding " + err.Error())
	}
	s.write(w, p.Status, MediaProblem, b)
}
