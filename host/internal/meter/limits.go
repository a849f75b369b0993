package meter

import "github.com/aoagents/ao-host/abi"

// The price list, see the package documentation.
const (
	CodeBytesPerUnit    = 2048
	BulkBytesPerUnit    = 64
	BulkElementsPerUnit = 8
	GrowUnitsPerPage    = 16
)

// PageBytes is the size of a WebAssembly memory page.
const PageBytes = 65536

// Limits bound what a module may declare. They keep the time and memory that
// compiling and instantiating it takes in proportion.
type Limits struct {
	// ModuleBytes is the size of the module with all its sections.
	ModuleBytes int
	// Types, Functions, Globals, Exports, Elements and DataSegments bound the
	// entries of those sections. Functions counts imported ones too.
	Types, Functions, Globals, Exports, Elements, DataSegments int
	// Tables bounds the number of tables, TableEntries the size each may reach.
	Tables, TableEntries int
	// Params and Results bound one function type.
	Params, Results int
	// Locals bounds the declared locals of one function, BodyBytes its code,
	// Nesting the depth of its blocks.
	Locals, BodyBytes, Nesting int
	// MemoryPages is the most pages the memory may reach, at most 65535. A
	// module that declares more is cut down to it; one that starts with more is
	// refused.
	MemoryPages int
}

// DefaultLimits fit what the Go, TinyGo, Rust and C compilers produce for a
// binding with an order of magnitude to spare; an unstripped Go module with fmt
// and encoding/json has about 4000 functions.
func DefaultLimits() Limits {
	return Limits{
		ModuleBytes:  abi.MaxModuleBytes,
		Types:        4096,
		Functions:    65536,
		Globals:      4096,
		Exports:      4096,
		Elements:     4096,
		DataSegments: 65536,
		Tables:       16,
		TableEntries: 1 << 17,
		Params:       255,
		Results:      64,
		Locals:       8192,
		BodyBytes:    2 << 20,
		Nesting:      16384,
		MemoryPages:  1024,
	}
}
