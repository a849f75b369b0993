package engine

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/aoagents/ao-host/host/internal/meter"
)

// wasiModule is the module name of WASI preview 1.
const wasiModule = "wasi_snapshot_preview1"

// Error numbers of WASI preview 1.
const (
	errnoSuccess = 0
	errnoBadf    = 8
	errnoFault   = 21
	errnoInval   = 28
	errnoSpipe   = 70
)

// maxVectors bounds the I/O vectors and subscriptions of one call.
const maxVectors = 1024

// stderrBytes is how much of what a guest prints is kept.
const stderrBytes = 64 << 10

// system is the operating system a guest sees: a clock that stands still, a
// seeded random stream, and two outputs that end in a ring. Everything else is
// denied as a descriptor that does not exist.
type system struct {
	nowMillis int64
	random    *rand.ChaCha8
	printed   ring
	// charge takes fuel for work done by the host on the guest's behalf.
	charge func(units int64)
}

// bootMillis is the time during instantiation. It is not zero because the Go
// runtime refuses to start at zero, and constant so that every instance starts
// out the same.
const bootMillis = 1

func newSystem(seed [32]byte, charge func(int64)) system {
	return system{
		nowMillis: bootMillis,
		random:    rand.NewChaCha8(seed),
		printed:   ring{limit: stderrBytes},
		charge:    charge,
	}
}

// A syscall implements one function: memory and arguments in, error number out.
type syscall func(s *system, mem []byte, args []uint64) uint32

// wasiFuncs is the allow-list with the types of the preview 1 specification
// (i = i32, I = i64); a nil function is denied with EBADF. Names a Go program
// links in although it never calls them are on the list for that reason.
var wasiFuncs = map[string]struct {
	params string
	run    syscall
}{
	"args_get":                {"ii", nothing},
	"args_sizes_get":          {"ii", noVectors},
	"environ_get":             {"ii", nothing},
	"environ_sizes_get":       {"ii", noVectors},
	"clock_res_get":           {"ii", clockRes},
	"clock_time_get":          {"iIi", clockTime},
	"random_get":              {"ii", randomGet},
	"sched_yield":             {"", nothing},
	"poll_oneoff":             {"iiii", pollOneoff},
	"proc_exit":               {"i", procExit},
	"proc_raise":              {"i", procRaise},
	"fd_write":                {"iiii", fdWrite},
	"fd_read":                 {"iiii", fdRead},
	"fd_close":                {"i", standardOnly},
	"fd_fdstat_get":           {"ii", fdStat},
	"fd_fdstat_set_flags":     {"ii", standardOnly},
	"fd_seek":                 {"iIii", fdSeek},
	"fd_tell":                 {"ii", fdSeek},
	"fd_advise":               {"iIIi", nil},
	"fd_allocate":             {"iII", nil},
	"fd_datasync":             {"i", nil},
	"fd_fdstat_set_rights":    {"iII", nil},
	"fd_filestat_get":         {"ii", nil},
	"fd_filestat_set_size":    {"iI", nil},
	"fd_filestat_set_times":   {"iIIi", nil},
	"fd_pread":                {"iiiIi", nil},
	"fd_prestat_get":          {"ii", nil},
	"fd_prestat_dir_name":     {"iii", nil},
	"fd_pwrite":               {"iiiIi", nil},
	"fd_readdir":              {"iiiIi", nil},
	"fd_renumber":             {"ii", nil},
	"fd_sync":                 {"i", nil},
	"path_create_directory":   {"iii", nil},
	"path_filestat_get":       {"iiiii", nil},
	"path_filestat_set_times": {"iiiiIIi", nil},
	"path_link":               {"iiiiiii", nil},
	"path_open":               {"iiiiiIIii", nil},
	"path_readlink":           {"iiiiii", nil},
	"path_remove_directory":   {"iii", nil},
	"path_rename":             {"iiiiii", nil},
	"path_symlink":            {"iiiii", nil},
	"path_unlink_file":        {"iii", nil},
	"sock_accept":             {"iii", nil},
	"sock_recv":               {"iiiiii", nil},
	"sock_send":               {"iiiii", nil},
	"sock_shutdown":           {"ii", nil},
}

// wasiType is the function type of a name on the list.
func wasiType(name string) meter.FuncType {
	var t meter.FuncType
	for _, c := range wasiFuncs[name].params {
		if c == 'I' {
			t.Params = append(t.Params, meter.I64)
		} else {
			t.Params = append(t.Params, meter.I32)
		}
	}
	if name != "proc_exit" {
		t.Results = []meter.ValType{meter.I32}
	}
	return t
}

func wasiImports() map[meter.Import]meter.FuncType {
	m := make(map[meter.Import]meter.FuncType, len(wasiFuncs))
	for name := range wasiFuncs {
		m[meter.Import{Module: wasiModule, Name: name}] = wasiType(name)
	}
	return m
}

// span is the part of the memory at ptr, nil when it is not within.
func span(mem []byte, ptr, n uint64) []byte {
	p, l := uint64(uint32(ptr)), uint64(uint32(n))
	if p+l > uint64(len(mem)) {
		return nil
	}
	return mem[p : p+l : p+l]
}

func put32(mem []byte, ptr uint64, v uint32) uint32 {
	b := span(mem, ptr, 4)
	if b == nil {
		return errnoFault
	}
	binary.LittleEndian.PutUint32(b, v)
	return errnoSuccess
}

func put64(mem []byte, ptr uint64, v uint64) uint32 {
	b := span(mem, ptr, 8)
	if b == nil {
		return errnoFault
	}
	binary.LittleEndian.PutUint64(b, v)
	return errnoSuccess
}

func nothing(*system, []byte, []uint64) uint32 { return errnoSuccess }

func noVectors(_ *system, mem []byte, a []uint64) uint32 {
	if e := put32(mem, a[0], 0); e != errnoSuccess {
		return e
	}
	return put32(mem, a[1], 0)
}

// clockRes says one millisecond, the unit of an event's time.
func clockRes(_ *system, mem []byte, a []uint64) uint32 {
	if uint32(a[0]) > 1 {
		return errnoInval
	}
	return put64(mem, a[1], 1_000_000)
}

// clockTime gives the event's time for the wall clock and the monotonic one.
func clockTime(s *system, mem []byte, a []uint64) uint32 {
	if uint32(a[0]) > 1 {
		return errnoInval
	}
	return put64(mem, a[2], uint64(s.nowMillis)*1_000_000)
}

func randomGet(s *system, mem []byte, a []uint64) uint32 {
	b := span(mem, a[0], a[1])
	if b == nil && uint32(a[1]) != 0 {
		return errnoFault
	}
	s.charge(int64(len(b)) / meter.BulkBytesPerUnit)
	_, _ = s.random.Read(b) // never fails
	return errnoSuccess
}

// pollOneoff answers every subscription at once: the clock does not move, so a
// sleep that waited would never end. A guest that sleeps in a loop until the
// clock has moved runs out of fuel.
func pollOneoff(s *system, mem []byte, a []uint64) uint32 {
	n := uint64(uint32(a[2]))
	if n == 0 || n > maxVectors {
		return errnoInval
	}
	const subBytes, eventBytes = 48, 32
	subs, events := span(mem, a[0], n*subBytes), span(mem, a[1], n*eventBytes)
	if subs == nil || events == nil {
		return errnoFault
	}
	s.charge(int64(n))
	for ; len(subs) > 0; subs, events = subs[subBytes:], events[eventBytes:] {
		// Both may overlap: read a subscription before its event is written.
		user := binary.LittleEndian.Uint64(subs)
		kind := subs[8]
		fd := binary.LittleEndian.Uint32(subs[16:])
		errno := uint16(errnoSuccess)
		if kind > 2 {
			return errnoInval
		}
		if kind != 0 && fd > 2 {
			errno = errnoBadf
		}
		clear(events[:eventBytes])
		binary.LittleEndian.PutUint64(events, user)
		binary.LittleEndian.PutUint16(events[8:], errno)
		events[10] = kind
	}
	return put32(mem, a[3], uint32(n))
}

func procExit(_ *system, _ []byte, a []uint64) uint32 {
	panic(&stop{kind: FaultTrap, message: fmt.Sprintf("the module ended itself with exit code %d; what it printed says why", uint32(a[0]))})
}

func procRaise(_ *system, _ []byte, a []uint64) uint32 {
	panic(&stop{kind: FaultTrap, message: fmt.Sprintf("the module raised signal %d; what it printed says why", uint32(a[0]))})
}

func fdWrite(s *system, mem []byte, a []uint64) uint32 {
	if fd := uint32(a[0]); fd != 1 && fd != 2 {
		return errnoBadf
	}
	n := uint64(uint32(a[2]))
	if n > maxVectors {
		return errnoInval
	}
	vectors := span(mem, a[1], n*8)
	if vectors == nil {
		return errnoFault
	}
	var total uint64
	for ; len(vectors) > 0; vectors = vectors[8:] {
		b := span(mem, uint64(binary.LittleEndian.Uint32(vectors)), uint64(binary.LittleEndian.Uint32(vectors[4:])))
		if b == nil {
			return errnoFault
		}
		if total += uint64(len(b)); total > 1<<31 {
			return errnoInval
		}
		s.charge(int64(len(b)) / meter.BulkBytesPerUnit)
		s.printed.write(b)
	}
	return put32(mem, a[3], uint32(total))
}

// fdRead is at the end of standard input.
func fdRead(_ *system, mem []byte, a []uint64) uint32 {
	if uint32(a[0]) != 0 {
		return errnoBadf
	}
	return put32(mem, a[3], 0)
}

func standardOnly(_ *system, _ []byte, a []uint64) uint32 {
	if uint32(a[0]) > 2 {
		return errnoBadf
	}
	return errnoSuccess
}

// fdStat describes the standard descriptors as character devices.
func fdStat(_ *system, mem []byte, a []uint64) uint32 {
	fd := uint32(a[0])
	if fd > 2 {
		return errnoBadf
	}
	b := span(mem, a[1], 24)
	if b == nil {
		return errnoFault
	}
	clear(b)
	const characterDevice, rightRead, rightWrite = 2, 1 << 1, 1 << 6
	b[0] = characterDevice
	right := uint64(rightWrite)
	if fd == 0 {
		right = rightRead
	}
	binary.LittleEndian.PutUint64(b[8:], right)
	return errnoSuccess
}

func fdSeek(_ *system, _ []byte, a []uint64) uint32 {
	if uint32(a[0]) > 2 {
		return errnoBadf
	}
	return errnoSpipe
}
