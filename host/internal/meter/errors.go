package meter

import "fmt"

// Code is the stable code of an [Error].
type Code string

// The codes.
const (
	// CodeTruncated: the file ends early.
	CodeTruncated Code = "module_truncated"
	// CodeForeign: it is not WebAssembly.
	CodeForeign Code = "module_foreign"
	// CodeComponent: it is a component, not a core module.
	CodeComponent Code = "module_component"
	// CodeInvalid: it breaks the WebAssembly specification.
	CodeInvalid Code = "module_invalid"
	// CodeUnsupported: it uses a feature that is refused.
	CodeUnsupported Code = "module_unsupported"
	// CodeImport: it imports something the host does not offer.
	CodeImport Code = "module_import"
	// CodeExport: an export of the ABI is missing or has another type.
	CodeExport Code = "module_export"
	// CodeLimit: it is larger than allowed.
	CodeLimit Code = "module_limit"
)

// Error says why a module was refused.
type Error struct {
	Code Code
	// Offset is the byte of the module where it was seen, -1 when it is about
	// the module as a whole.
	Offset int
	// Message is a sentence that says what is wrong and what to do.
	Message string
}

func (e *Error) Error() string {
	if e.Offset < 0 {
		return fmt.Sprintf("%s: %s", e.Code, e.Message)
	}
	return fmt.Sprintf("%s: at byte %d: %s", e.Code, e.Offset, e.Message)
}

const recompile = "compile without it"

func refuse(code Code, at int, format string, args ...any) *Error {
	return &Error{Code: code, Offset: at, Message: fmt.Sprintf(format, args...)}
}
