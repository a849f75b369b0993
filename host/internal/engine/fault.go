package engine

import "fmt"

// The kinds of a [Fault].
const (
	// FaultTrap: the module trapped or ended itself.
	FaultTrap = "trap"
	// FaultFuel: the step took more work than its budget.
	FaultFuel = "fuel"
	// FaultOutput: the output is larger than allowed.
	FaultOutput = "output"
	// FaultMemory: the module trapped after it was refused more memory.
	FaultMemory = "memory"
	// FaultProtocol: it broke the calling convention, for example with a
	// pointer outside of its memory.
	FaultProtocol = "protocol"
	// FaultPoisoned: the instance had a fault before.
	FaultPoisoned = "poisoned"
	// FaultCancelled: the context ended while the module ran. This is not the
	// module's doing; the instance is lost all the same, as it was stopped half-way.
	FaultCancelled = "cancelled"
	// FaultClosed: the instance or the engine was closed.
	FaultClosed = "closed"
)

// Fault is the error of a call into an instance. After it every later call on
// that instance fails with kind [FaultPoisoned].
type Fault struct {
	Kind string
	// Message is a sentence for the person who reads the journal.
	Message string
	// Fuel is what the call used, in units of package meter.
	Fuel int64
	// Stderr is the end of what the module printed since it was instantiated.
	Stderr string
	cause  error
}

func (f *Fault) Error() string { return fmt.Sprintf("binding fault (%s): %s", f.Kind, f.Message) }

// Unwrap gives the context's error for [FaultCancelled].
func (f *Fault) Unwrap() error { return f.cause }

// stop is what host functions panic with to end a running guest. The engine
// underneath turns it into the error of the call.
type stop struct {
	kind    string
	message string
	cause   error
}

func (s *stop) Error() string { return s.message }
