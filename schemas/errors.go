package schemas

import "fmt"

// Stable codes of [Error].
const (
	CodeProviderUnknown    = "schema_provider_unknown"
	CodeGeneratorFailed    = "schema_generator_failed"
	CodeGeneratorOutput    = "schema_generator_output"
	CodeBundleInvalid      = "schema_bundle_invalid"
	CodeMethodUnknown      = "schema_method_unknown"
	CodeSectionCorrupt     = "schema_section_corrupt"
	CodeSectionTooLarge    = "schema_section_too_large"
	CodeSectionUnsupported = "schema_section_unsupported"
	CodeSchemaInvalid      = "schema_invalid"
	CodeRecordingInvalid   = "schema_recording_invalid"
	CodeObservationInvalid = "schema_observation_invalid"
)

// Error is an error of this package other than a [Violation].
type Error struct {
	// Code is one of the Code constants.
	Code string
	// Message is a sentence that says what is wrong and what to do.
	Message string
	// Err is the cause, if any.
	Err error
}

// Error returns the message and the cause.
func (e *Error) Error() string {
	if e.Err != nil {
		return e.Message + " (" + e.Err.Error() + ")"
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func failf(code string, cause error, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Err: cause}
}
