package abi

// The most a manifest may ask for in its [Limits]. The host grants what is
// asked up to these and its own defaults where nothing is asked.
const (
	// MaxMemoryBytes bounds the linear memory.
	MaxMemoryBytes = 1 << 30
	// MaxFuelPerStep and MaxFuelPerByte bound the fuel of a step, in loop
	// iterations and calls.
	MaxFuelPerStep = 5_000_000_000
	MaxFuelPerByte = 50_000
	// MaxOutputBytes bounds the output of one step and one saved state.
	MaxOutputBytes = 128 << 20
)

// MaxModuleBytes bounds a module file.
const MaxModuleBytes = 32 << 20

// MaxManifestBytes bounds the ao.manifest section.
const MaxManifestBytes = 256 << 10

// The names of the custom sections of a module.
const (
	SectionManifest = "ao.manifest"
	SectionSchemas  = "ao.schemas"
)
