package host

import (
	"time"
)

// Severity says how much a finding matters.
type Severity string

// The severities.
const (
	// SeverityError: something cannot be used.
	SeverityError Severity = "error"
	// SeverityWarning: it can be used, and may not do what is expected.
	SeverityWarning Severity = "warning"
	// SeverityNote: nothing is wrong; it may be worth knowing.
	SeverityNote Severity = "note"
)

// Finding is one thing that a diagnosis has to say.
type Finding struct {
	Severity Severity `json:"severity"`
	Code     Code     `json:"code"`
	// Text says what is the case, Advice what to do about it. Advice is left out
	// where the text says it.
	Text   string `json:"text"`
	Advice string `json:"advice,omitempty"`
}

// DiagnoseOptions say what to look at.
type DiagnoseOptions struct {
	// Harnesses are ids; none means every harness that there is a binding for.
	Harnesses []string `json:"harnesses,omitempty"`
	// Probe also starts each harness once, in an empty folder and with a data folder
	// of its own, up to the point where it could take a message. No message is sent
	// and no turn is begun. Without it only the command that prints the harness's
	// version is run.
	Probe bool `json:"probe,omitempty"`
	// Runtime also tells what the goroutines of an open host do, and the metrics of
	// its Go runtime.
	Runtime bool `json:"runtime,omitempty"`
}

// Diagnosis is what a host finds out about itself and the machine. It holds no
// credential and no value of a variable but PATH and SHELL.
type Diagnosis struct {
	At       time.Time `json:"at"`
	Version  string    `json:"version"`
	ABI      string    `json:"abi"`
	Go       string    `json:"go"`
	Platform string    `json:"platform"`
	// Host is the host that answers, nil when the folder was looked at from outside.
	Host        *HostCheck       `json:"host,omitempty"`
	Data        DataCheck        `json:"data"`
	Environment EnvironmentCheck `json:"environment"`
	Harnesses   []HarnessCheck   `json:"harnesses"`
	// Modules are those in the bindings folder that cannot be used, or not yet.
	Modules []ModuleCheck `json:"modules,omitempty"`
}

// HostCheck is the state of an open host.
type HostCheck struct {
	PID int `json:"pid"`
	// Conversations are those in memory, Sessions the provider processes.
	Conversations int `json:"conversations"`
	Sessions      int `json:"sessions"`
	Goroutines    int `json:"goroutines"`
	// HeapBytes is the memory in use, SystemBytes what was taken from the system.
	HeapBytes   uint64 `json:"heap_bytes"`
	SystemBytes uint64 `json:"system_bytes"`
	// Stacks are the goroutines, alike ones counted, and Metrics the numbers of the Go
	// runtime by their names there; both only when asked for.
	Stacks   string           `json:"stacks,omitempty"`
	Metrics  map[string]int64 `json:"metrics,omitempty"`
	Findings []Finding        `json:"findings,omitempty"`
}

// DataCheck is the state of the data folder.
type DataCheck struct {
	Dir    string `json:"dir"`
	Exists bool   `json:"exists"`
	// Usable: it is open, or could be opened.
	Usable bool `json:"usable"`
	// Schema is the version of the data, Known the one of this program.
	Schema      int64 `json:"schema"`
	Known       int64 `json:"known"`
	DataBytes   int64 `json:"data_bytes"`
	LogBytes    int64 `json:"log_bytes"`
	BackupBytes int64 `json:"backup_bytes"`
	// FreeBytes is the room on its disk, -1 where it is not known.
	FreeBytes int64 `json:"free_bytes"`
	// Holder is the process that has it open, 0 for none.
	Holder   int       `json:"holder,omitempty"`
	Findings []Finding `json:"findings,omitempty"`
}

// EnvironmentSource says where harnesses get their environment from.
type EnvironmentSource string

// The sources.
const (
	// EnvironmentGiven: the product configured it.
	EnvironmentGiven EnvironmentSource = "given"
	// EnvironmentLogin: the login shell was asked.
	EnvironmentLogin EnvironmentSource = "login-shell"
	// EnvironmentOwn: the login shell could not tell, so it is that of the process.
	EnvironmentOwn EnvironmentSource = "own"
)

// EnvironmentCheck is the environment that harnesses are started from.
type EnvironmentCheck struct {
	Source EnvironmentSource `json:"source"`
	Shell  string            `json:"shell,omitempty"`
	// TookMS is how long the shell took, in milliseconds.
	TookMS int64 `json:"took_ms,omitempty"`
	// Path are the folders that commands are looked up in.
	Path     []string  `json:"path"`
	Findings []Finding `json:"findings,omitempty"`
}

// VersionFit says how a harness's version relates to those its binding is made for.
type VersionFit string

// The fits.
const (
	// FitTested: the binding was tested with this version.
	FitTested VersionFit = "tested"
	// FitExpected: it lies between the versions the binding is expected to fit.
	FitExpected VersionFit = "expected"
	// FitOutside: it is used all the same, with a warning.
	FitOutside VersionFit = "outside"
	// FitUnknown: the harness does not tell its version without being started.
	FitUnknown VersionFit = "unknown"
)

// SignInState says what is known about a harness's sign-in.
type SignInState string

// The states.
const (
	// SignInFound: there is a trace of a sign-in. Whether it still holds only the
	// provider knows.
	SignInFound SignInState = "found"
	// SignInNotFound: there is none of the traces. A credential may be elsewhere, in
	// the keychain of the system for example.
	SignInNotFound SignInState = "not-found"
	// SignInUnknown: the binding does not say what to look for.
	SignInUnknown SignInState = "unknown"
	// SignInNeeded: the harness was started and asks for one.
	SignInNeeded SignInState = "needed"
	// SignInNotAsked: the harness was started and asked for none.
	SignInNotAsked SignInState = "not-asked"
)

// HarnessCheck is the state of one harness.
type HarnessCheck struct {
	Harness string `json:"harness"`
	Title   string `json:"title,omitempty"`
	// Usable: nothing is known that keeps a conversation from working.
	Usable  bool          `json:"usable"`
	Binding *BindingCheck `json:"binding,omitempty"`
	// Command is what starts it; Replaced: the configuration gives it, not the
	// binding. Program is the file that its first word means.
	Command  []string `json:"command,omitempty"`
	Replaced bool     `json:"replaced,omitempty"`
	Program  string   `json:"program,omitempty"`
	// Version is what the program says about itself.
	Version string     `json:"version,omitempty"`
	Fit     VersionFit `json:"fit,omitempty"`
	// Schemas is the provider version whose schemas check its traffic.
	Schemas  string       `json:"schemas,omitempty"`
	SignIn   *SignInCheck `json:"sign_in,omitempty"`
	Probe    *ProbeCheck  `json:"probe,omitempty"`
	Findings []Finding    `json:"findings,omitempty"`
}

// BindingCheck is the binding that a harness would use.
type BindingCheck struct {
	Version string `json:"version"`
	Digest  string `json:"digest"`
	BuiltIn bool   `json:"built_in"`
	Path    string `json:"path,omitempty"`
	// Tested are the provider versions it was tested with; it is expected to fit Min
	// to Max.
	Tested []string `json:"tested"`
	Min    string   `json:"min"`
	Max    string   `json:"max"`
}

// SignInCheck is what was found about a sign-in, without reading anything of it.
type SignInCheck struct {
	State SignInState `json:"state"`
	// Found are the names of variables that are set and the paths of files that are
	// there.
	Found []string `json:"found,omitempty"`
	// Command is what a person runs to sign in.
	Command []string `json:"command,omitempty"`
}

// ProbeCheck is what a start of the harness showed.
type ProbeCheck struct {
	Ready  bool  `json:"ready"`
	TookMS int64 `json:"took_ms"`
	// Modes and Models count what it offers.
	Modes  int `json:"modes,omitempty"`
	Models int `json:"models,omitempty"`
}

// ModuleCheck is a module in the bindings folder that is not used.
type ModuleCheck struct {
	Path    string  `json:"path"`
	Harness string  `json:"harness,omitempty"`
	Version string  `json:"version,omitempty"`
	Digest  string  `json:"digest,omitempty"`
	Finding Finding `json:"finding"`
}

// findingOf makes a finding of an error.
func findingOf(severity Severity, err error) Finding {
	p := ProblemOf(err)
	f := Finding{Severity: severity, Code: p.Code, Text: p.Detail, Advice: p.Advice}
	if f.Text == "" {
		f.Text, f.Advice = codeTexts[p.Code], ""
	}
	return f
}

// failing reports whether a finding is an error.
func failing(findings []Finding) bool {
	for _, f := range findings {
		if f.Severity == SeverityError {
			return true
		}
	}
	return false
}
