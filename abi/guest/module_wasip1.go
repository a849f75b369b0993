package guest

import (
	"runtime"
	"unsafe"
)

// The state of the module. A module has one session and one thread.
var (
	machine *Machine
	// input is the buffer the host writes into, saved the last result of ao_save.
	input []byte
	saved []byte
	// calls counts ao_step, handled what it was given, in bytes, since the last rest.
	calls, handled int
)

// The collector's workers get a turn after so many steps or bytes.
const (
	restCalls = 32
	restBytes = 64 << 10
)

// Register makes r the reducer of this module. Call it once, from an init
// function of package main.
func Register(r Reducer) {
	if machine != nil {
		panic("guest: Register was called twice")
	}
	machine = NewMachine(r)
	// The heap of a binding is small. At the default of 100 the collector waits
	// until it reaches 4 MiB and memory.grow never gives anything back.
	setGCPercent(10)
}

// setGCPercent is what debug.SetGCPercent calls. Package debug itself brings fmt
// and os into the module: 0.4 MB, which is a sixth of a small binding.
//
//go:linkname setGCPercent runtime/debug.setGCPercent
func setGCPercent(int32) int32

//go:wasmexport ao_alloc
func aoAlloc(n int32) int32 {
	if n < 0 {
		panic("guest: ao_alloc of a negative size")
	}
	if int(n) > cap(input) || cap(input) > keptBytes && int(n) <= keptBytes {
		input = make([]byte, max(int(n), 4096))
	}
	input = input[:n]
	return int32(uintptr(unsafe.Pointer(unsafe.SliceData(input))))
}

//go:wasmexport ao_step
func aoStep(n int32) int64 {
	rest(int(n))
	out, err := machine.Step(received(n))
	if err != nil {
		panic(err)
	}
	return location(out)
}

// rest lets the collector's background workers run. Nothing else in the module ever
// blocks, so without this they never get a turn and the heap only grows; a turn takes
// as long as a short step.
func rest(n int) {
	calls++
	handled += n
	if calls >= restCalls || handled >= restBytes {
		calls, handled = 0, 0
		runtime.Gosched()
	}
}

//go:wasmexport ao_save
func aoSave() int64 {
	if cap(saved) > keptBytes {
		saved = nil
	}
	saved = machine.r.Save(saved[:0])
	return location(saved)
}

// aoLoad returns 0, or 1 when the reducer refused the state; the reason is on
// stderr.
//
//go:wasmexport ao_load
func aoLoad(n int32) int32 {
	if err := machine.Load(received(n)); err != nil {
		println("ao_load:", err.Error())
		return 1
	}
	return 0
}

// received is what the host wrote after the last ao_alloc.
func received(n int32) []byte {
	if machine == nil {
		panic("guest: no reducer; call guest.Register from an init function of package main")
	}
	if n < 0 || int(n) > len(input) {
		panic("guest: more bytes announced than ao_alloc was asked for")
	}
	return input[:n]
}

// location is the result of the exports that return bytes.
func location(b []byte) int64 {
	return int64(uintptr(unsafe.Pointer(unsafe.SliceData(b))))<<32 | int64(len(b))
}
