package engine

import (
	"fmt"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host/internal/meter"
)

// DefaultLimits are used for what a manifest leaves out.
//
// Measured on a Go binding: a text delta of 64 KiB takes 150 000 units, 2.3 for
// a byte, and a unit takes 1 to 3 ns. The defaults leave hundreds of times that
// for a step and eighty times for each byte, and end a runaway loop of a small
// event within half a second.
func DefaultLimits() abi.Limits {
	return abi.Limits{
		MemoryBytes: 256 << 20,
		FuelPerStep: 100_000_000,
		FuelPerByte: 200,
		OutputBytes: 32 << 20,
	}
}

// MaxLimits are the most that is granted, those of package abi.
func MaxLimits() abi.Limits {
	return abi.Limits{
		MemoryBytes: abi.MaxMemoryBytes,
		FuelPerStep: abi.MaxFuelPerStep,
		FuelPerByte: abi.MaxFuelPerByte,
		OutputBytes: abi.MaxOutputBytes,
	}
}

// MaxInputBytes bounds one event and one saved state. A line from the child may
// have 16 MiB; as JSON within an event it does not grow to twice of that.
const MaxInputBytes = 64 << 20

// initFuel is the budget of instantiation and _initialize. The Go runtime takes
// 30 000 units; packages that build tables at start can take millions.
const initFuel = 200_000_000

// effective fills in the defaults and cuts down to the maxima.
func effective(l abi.Limits) abi.Limits {
	pick := func(asked, normal, most int64) int64 {
		if asked <= 0 {
			return normal
		}
		return min(asked, most)
	}
	d, m := DefaultLimits(), MaxLimits()
	return abi.Limits{
		MemoryBytes: pick(l.MemoryBytes, d.MemoryBytes, m.MemoryBytes),
		FuelPerStep: pick(l.FuelPerStep, d.FuelPerStep, m.FuelPerStep),
		FuelPerByte: pick(l.FuelPerByte, d.FuelPerByte, m.FuelPerByte),
		OutputBytes: pick(l.OutputBytes, d.OutputBytes, m.OutputBytes),
	}
}

// budget is the fuel of one call with n bytes of input.
func budget(l abi.Limits, n int) int64 { return l.FuelPerStep + l.FuelPerByte*int64(n) }

// checkInput refuses an event that is too large for any binding.
func checkInput(n int) error {
	if n > MaxInputBytes {
		return fmt.Errorf("engine: an input of %d bytes, and at most %d are given to a binding", n, MaxInputBytes)
	}
	return nil
}

func meterOptions(l abi.Limits, moduleBytes int) meter.Options {
	o := meter.Options{
		Limits:  meter.DefaultLimits(),
		Imports: wasiImports(),
		Exports: abiExports,
		Memory:  "memory",
	}
	if moduleBytes > 0 {
		o.Limits.ModuleBytes = moduleBytes
	}
	o.Limits.MemoryPages = int(l.MemoryBytes / meter.PageBytes)
	return o
}

// The exports of the ABI (DESIGN §3).
const (
	exportAlloc      = "ao_alloc"
	exportStep       = "ao_step"
	exportSave       = "ao_save"
	exportLoad       = "ao_load"
	exportInitialize = "_initialize"
)

var abiExports = []meter.Export{
	{Name: exportAlloc, Type: meter.FuncType{Params: []meter.ValType{meter.I32}, Results: []meter.ValType{meter.I32}}},
	{Name: exportStep, Type: meter.FuncType{Params: []meter.ValType{meter.I32}, Results: []meter.ValType{meter.I64}}},
	{Name: exportSave, Type: meter.FuncType{Results: []meter.ValType{meter.I64}}},
	{Name: exportLoad, Type: meter.FuncType{Params: []meter.ValType{meter.I32}, Results: []meter.ValType{meter.I32}}},
	{Name: exportInitialize, Optional: true},
}
