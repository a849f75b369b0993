package abi

// Manifest is the JSON of the ao.manifest section. It is read without running
// any code. What it asks for is granted by the user only (DESIGN §3).
type Manifest struct {
	// Harness is the id, [a-z][a-z0-9-]{0,31}.
	Harness string `json:"harness"`
	// Title is the name of the harness for a person.
	Title string `json:"title"`
	// BindingVersion is the semantic version of the binding.
	BindingVersion string   `json:"binding_version"`
	ABI            ABIRange `json:"abi"`
	// StateVersion numbers the format of ao_save.
	StateVersion int64        `json:"state_version"`
	Launch       Launch       `json:"launch"`
	Framing      Framing      `json:"framing"`
	Provider     Provider     `json:"provider"`
	Capabilities Capabilities `json:"capabilities"`
	Vocabulary   Vocabulary   `json:"vocabulary"`
	// Calls are the methods it may call.
	Calls []string `json:"calls"`
	// Notifies are the notifications it may send.
	Notifies []string `json:"notifies,omitempty"`
	// Requests are the requests of the child that it answers; others are refused
	// by the host.
	Requests []RequestMethod `json:"requests,omitempty"`
	Limits   Limits          `json:"limits"`
}

// ABIRange is the inclusive range of ABI versions a module works with.
type ABIRange struct {
	Min string `json:"min"`
	Max string `json:"max"`
}

// Launch says how to start the harness, as data.
type Launch struct {
	// Argv is the command and its arguments. "{cwd}" is replaced inside a word.
	Argv []string `json:"argv"`
	// PermissionArgv are arguments added for a permission. Where the next turn's
	// permission has others than the process, the host starts another one first
	// (rule 7).
	PermissionArgv []PermissionArgs `json:"permission_argv,omitempty"`
	// Env lists the variables passed through, besides the host's base list. A
	// trailing * matches a prefix.
	Env []string `json:"env,omitempty"`
	// SetEnv are variables set to fixed values, to turn off update checks.
	SetEnv []EnvValue `json:"set_env,omitempty"`
	// HomeVar is the variable that names the harness's own folder.
	HomeVar string `json:"home_var,omitempty"`
	// HomeDir is that folder where the variable is not set, relative to the home
	// directory of the user.
	HomeDir string `json:"home_dir,omitempty"`
	// Facts are variables of which only "is it set" enters the sandbox.
	Facts []EnvFact `json:"facts,omitempty"`
	// SignIn is the command a person runs to sign in.
	SignIn []string `json:"sign_in,omitempty"`
	// SignedIn is what shows an earlier sign-in by being there.
	SignedIn *SignInTraces `json:"signed_in,omitempty"`
	// StopEndsProcess: stop ends the process when the turn does not end by
	// itself (rule 22).
	StopEndsProcess bool `json:"stop_ends_process,omitempty"`
	// InstallHint is the sentence shown when the command in argv is not found.
	InstallHint string `json:"install_hint,omitempty"`
	// VersionArgv prints the harness's version and ends. It is run when a person asks
	// for a diagnosis, without standard input and for a few seconds at most.
	VersionArgv []string `json:"version_argv,omitempty"`
}

// PermissionArgs are extra arguments for one permission.
type PermissionArgs struct {
	Permission Permission `json:"permission"`
	Args       []string   `json:"args"`
}

// EnvValue sets a variable.
type EnvValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// EnvFact names a fact and the variable it is about.
type EnvFact struct {
	// Name is what the binding sees in its open event, [a-z][a-z0-9_]*.
	Name string `json:"name"`
	// Env is the variable.
	Env string `json:"env"`
}

// SignInTraces are what a harness that is signed in leaves on the machine. The host
// looks whether one of them is there, and reads none. That none is there proves
// nothing: a credential can be in the keychain of the system.
type SignInTraces struct {
	// Env are variables of which any that is set signs in.
	Env []string `json:"env,omitempty"`
	// Files are in the harness's own folder, see HomeVar and HomeDir.
	Files []string `json:"files,omitempty"`
}

// Framing describes the lines on the pipe.
type Framing struct {
	// JSONRPC: frames carry the member "jsonrpc":"2.0".
	JSONRPC bool `json:"jsonrpc"`
}

// Provider is the provider the schemas were generated from.
type Provider struct {
	// Versions are those it was tested against.
	Versions []string `json:"versions"`
	// Min and Max bound the versions it is expected to fit, inclusive; a version
	// outside is a warning, not a refusal.
	Min string `json:"min"`
	Max string `json:"max"`
}

// Vocabulary is the semantic vocabulary a binding maps, shown at install.
type Vocabulary struct {
	// Permissions are those it can put in force in some way.
	Permissions  []Permission      `json:"permissions"`
	Interactions []InteractionType `json:"interactions,omitempty"`
	// Proposals: plans are offered for review.
	Proposals bool `json:"proposals,omitempty"`
}

// RequestMethod is an inbound request. Interactive ones are answered only by a
// person's answer or a withdrawal.
type RequestMethod struct {
	Method      string `json:"method"`
	Interactive bool   `json:"interactive"`
}

// Limits are what a module asks for; zero means the host's default, and no more
// than the host's maximum is granted.
type Limits struct {
	// MemoryBytes bounds the linear memory.
	MemoryBytes int64 `json:"memory_bytes,omitempty"`
	// FuelPerStep and FuelPerByte bound the work of one step: FuelPerStep +
	// FuelPerByte × input bytes, in loop iterations and calls.
	FuelPerStep int64 `json:"fuel_per_step,omitempty"`
	FuelPerByte int64 `json:"fuel_per_byte,omitempty"`
	// OutputBytes bounds the output of a step and the saved state.
	OutputBytes int64 `json:"output_bytes,omitempty"`
}
