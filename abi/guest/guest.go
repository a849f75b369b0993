// Package guest is the Go SDK for bindings. A binding implements [Reducer] and
// its module's main package registers it:
//
//	func init() { guest.Register(mybinding.New()) }
//
//	func main() {}
//
// Build it with
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -trimpath -buildvcs=false -ldflags='-s -w -buildid=' -o mybinding.wasm .
//
// and add the manifest and schemas with "ao-host bindings pack". [Machine] runs
// the same reducer natively, for tests.
package guest

import "github.com/aoagents/ao-host/abi"

// Reducer is a binding: a deterministic state machine. Its output may depend on
// nothing but the events, so it must not range over maps, start goroutines or
// compute with floats on the way to an effect or to the saved state.
type Reducer interface {
	// Step handles one event. The event, its slices and its Raw members are
	// valid only during the call; strings may be kept.
	Step(ev *abi.Event, out *Effects)
	// Save appends the session state. Loading it into a new reducer must give
	// the same later output as never having saved.
	Save(dst []byte) []byte
	// Load restores what Save wrote. The state is valid only during the call. An
	// error refuses it; the host then opens a new session state.
	Load(state []byte) error
}

// Machine runs a reducer natively with the bytes a module would see.
type Machine struct {
	r   Reducer
	dec abi.EventDecoder
	out Effects
}

// NewMachine returns a machine around r.
func NewMachine(r Reducer) *Machine { return &Machine{r: r} }

// Step handles one encoded event and returns the encoded effects, valid until
// the next call. It fails when the event is malformed, where a module would
// trap. A panic of the reducer is not caught.
func (m *Machine) Step(in []byte) ([]byte, error) {
	ev, err := m.dec.Decode(in)
	if err != nil {
		return nil, err
	}
	m.out.reset()
	// A kind that a newer host sends is not for this binding.
	if ev.Kind() != "" {
		m.r.Step(ev, &m.out)
	}
	return m.out.finish(), nil
}

// Save returns the session state.
func (m *Machine) Save() []byte { return m.r.Save(nil) }

// Load restores a state that Save returned.
func (m *Machine) Load(state []byte) error { return m.r.Load(state) }
