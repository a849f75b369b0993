package module

import (
	"strconv"
	"strings"

	"github.com/aoagents/ao-host/abi"
)

// Code is a stable error code.
type Code string

// The codes.
const (
	// CodeTruncated: the file ends inside a section or a size is damaged.
	CodeTruncated Code = "module_truncated"
	// CodeForeign: the file is not WebAssembly, or of another version of it.
	CodeForeign Code = "module_foreign"
	// CodeComponent: the file is a component, not a core module.
	CodeComponent Code = "module_component"
	// CodeManifestMissing: there is no ao.manifest section.
	CodeManifestMissing Code = "manifest_missing"
	// CodeManifestInvalid: the manifest breaks rules; see [Error.Problems].
	CodeManifestInvalid Code = "manifest_invalid"
	// CodeABIUnsupported: the module was made for another ABI version.
	CodeABIUnsupported Code = "abi_unsupported"
	// CodeSchemasMissing: there is no ao.schemas section.
	CodeSchemasMissing Code = "schemas_missing"
	// CodeSchemasInvalid: there is more than one ao.schemas section.
	CodeSchemasInvalid Code = "schemas_invalid"
)

// Error is what every function of this package fails with.
type Error struct {
	Code Code
	// Text says what is wrong and what to do, one sentence or two.
	Text string
	// Problems are all rules that a manifest breaks, for CodeManifestInvalid.
	Problems []Problem
	// Required and Supported are the ABI versions, for CodeABIUnsupported.
	Required  abi.ABIRange
	Supported string
}

// Problem is one broken rule.
type Problem struct {
	// Path names the member, for example "launch.argv[0]".
	Path string
	// Text continues the sentence that the path begins.
	Text string
}

func (p Problem) String() string { return p.Path + " " + p.Text }

// Error returns Text and the problems.
func (e *Error) Error() string {
	if len(e.Problems) == 0 {
		return e.Text
	}
	all := names(e.Problems, Problem.String)
	return e.Text + " " + strings.Join(all, "; ")
}

// ErrorCode returns the code as a string, for callers that map codes of several
// packages.
func (e *Error) ErrorCode() string { return string(e.Code) }

// maxProblems bounds a list that a hostile manifest could make long.
const maxProblems = 50

// problems collects broken rules.
type problems struct {
	list []Problem
	more int
}

func (p *problems) add(path, text string) {
	if len(p.list) == maxProblems {
		p.more++
		return
	}
	p.list = append(p.list, Problem{Path: path, Text: text})
}

// err is nil when there are no problems.
func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	text := "the manifest is not valid:"
	if p.more > 0 {
		text = "the manifest is not valid (" + strconv.Itoa(p.more) + " more problems are not shown):"
	}
	return &Error{Code: CodeManifestInvalid, Text: text, Problems: p.list}
}
