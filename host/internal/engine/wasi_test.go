package engine_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host/internal/engine"
	mt "github.com/aoagents/ao-host/host/internal/meter/metertest"
)

// Error numbers of WASI preview 1.
const (
	success = 0
	badf    = 8
	fault   = 21
	inval   = 28
	spipe   = 70
)

// caller is a module that passes what is in the event on to one function of
// WASI. Its output is the error number and the rest of the page the event is in.
func caller(name, params string) []byte {
	m := &mt.Module{}
	var types []byte
	for _, c := range params {
		types = append(types, map[rune]byte{'i': mt.I32, 'I': mt.I64}[c])
	}
	results := []byte{mt.I32}
	if name == "proc_exit" {
		results = nil
	}
	fn := m.ImportFunc("wasi_snapshot_preview1", name, m.Type(types, results))
	alloc := m.Type([]byte{mt.I32}, []byte{mt.I32})
	step := m.Type([]byte{mt.I32}, []byte{mt.I64})
	save := m.Type(nil, []byte{mt.I64})
	m.Memory(1, 1)
	m.Export("memory", mt.KindMemory, 0)
	// The event is at 1024: the arguments as i64, then free space.
	code := mt.I32Const(1020)
	for n, c := range params {
		code = mt.Cat(code, mt.I32Const(int32(1024+8*n)), mt.Op(0x29, 3, 0))
		if c == 'i' {
			code = mt.Cat(code, mt.Op(0xa7))
		}
	}
	code = mt.Cat(code, mt.Call(fn))
	if results == nil {
		code = mt.Cat(code, mt.I32Const(0))
	}
	code = mt.Cat(code, mt.Op(0x36, 2, 0), location(1020, 4100))
	m.Export("ao_alloc", mt.KindFunc, m.Func(alloc, nil, mt.I32Const(1024)))
	m.Export("ao_step", mt.KindFunc, m.Func(step, nil, code))
	m.Export("ao_save", mt.KindFunc, m.Func(save, nil, mt.I64Const(0)))
	m.Export("ao_load", mt.KindFunc, m.Func(alloc, nil, mt.I32Const(0)))
	return m.Bytes()
}

// args writes arguments, and after 128 bytes what the call finds at address 1152.
func args(at1152 []byte, a ...uint64) []byte {
	b := make([]byte, 128, 128+len(at1152))
	for n, v := range a {
		binary.LittleEndian.PutUint64(b[8*n:], v)
	}
	return append(b, at1152...)
}

// wasiCall returns the error number and the memory from address 1024.
func wasiCall(t *testing.T, i *engine.Instance, event []byte) (uint32, []byte) {
	t.Helper()
	out, _, err := i.Step(context.Background(), event)
	if err != nil {
		t.Fatal(err)
	}
	return binary.LittleEndian.Uint32(out), out[4:]
}

// TestEveryAllowedImportIsThereAndTheDeniedOnesSayBadDescriptor holds the list
// to the signatures of the preview 1 specification, written down a second time.
func TestEveryAllowedImportIsThereAndTheDeniedOnesSayBadDescriptor(t *testing.T) {
	denied := map[string]string{
		"fd_advise": "iIIi", "fd_allocate": "iII", "fd_datasync": "i", "fd_fdstat_set_rights": "iII",
		"fd_filestat_get": "ii", "fd_filestat_set_size": "iI", "fd_filestat_set_times": "iIIi",
		"fd_pread": "iiiIi", "fd_prestat_get": "ii", "fd_prestat_dir_name": "iii", "fd_pwrite": "iiiIi",
		"fd_readdir": "iiiIi", "fd_renumber": "ii", "fd_sync": "i",
		"path_create_directory": "iii", "path_filestat_get": "iiiii", "path_filestat_set_times": "iiiiIIi",
		"path_link": "iiiiiii", "path_open": "iiiiiIIii", "path_readlink": "iiiiii", "path_remove_directory": "iii",
		"path_rename": "iiiiii", "path_symlink": "iiiii", "path_unlink_file": "iii",
		"sock_accept": "iii", "sock_recv": "iiiiii", "sock_send": "iiiii", "sock_shutdown": "ii",
	}
	e := newEngine(t, engine.Config{})
	for name, params := range denied {
		i := instantiate(t, load(t, e, caller(name, params), abi.Limits{}))
		if errno, _ := wasiCall(t, i, args(nil, 3, 3, 3)); errno != badf {
			t.Errorf("%s answers %d, want %d", name, errno, badf)
		}
	}
	for _, c := range []struct{ name, params string }{
		{"path_open", "iiiii"},
		{"proc_exec", "ii"},
	} {
		if _, err := e.Load(context.Background(), caller(c.name, c.params), abi.Limits{}); err == nil || !strings.Contains(err.Error(), c.name) {
			t.Errorf("%s with %d parameters: %v", c.name, len(c.params), err)
		}
	}
}

func TestWhatTheGuestsOperatingSystemAnswers(t *testing.T) {
	le32 := func(vs ...uint32) (b []byte) {
		for _, v := range vs {
			b = binary.LittleEndian.AppendUint32(b, v)
		}
		return b
	}
	le64 := func(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
	const outside = 65530
	ones := bytes.Repeat([]byte{0xff}, 64)
	cases := []struct {
		name, params string
		args         []uint64
		mem          []byte // at 1152
		errno        uint32
		want         []byte // at 1152 afterwards
	}{
		{"args_sizes_get", "ii", []uint64{1152, 1156}, ones, success, le32(0, 0)},
		{"environ_sizes_get", "ii", []uint64{1152, 1156}, ones, success, le32(0, 0)},
		{"environ_sizes_get", "ii", []uint64{1152, 65533}, nil, fault, nil},
		{"args_sizes_get", "ii", []uint64{65533, 1152}, nil, fault, nil},
		{"args_get", "ii", []uint64{1152, 1152}, ones, success, ones},
		{"environ_get", "ii", []uint64{1152, 1152}, ones, success, ones},
		{"sched_yield", "", nil, nil, success, nil},
		{"clock_time_get", "iIi", []uint64{0, 1, 1152}, ones, success, le64(1_000_000)},
		{"clock_time_get", "iIi", []uint64{1, 1, 1152}, ones, success, le64(1_000_000)},
		{"clock_time_get", "iIi", []uint64{2, 1, 1152}, ones, inval, ones},
		{"clock_time_get", "iIi", []uint64{0, 1, outside}, nil, fault, nil},
		{"clock_res_get", "ii", []uint64{1, 1152}, ones, success, le64(1_000_000)},
		{"clock_res_get", "ii", []uint64{9, 1152}, ones, inval, ones},
		{"random_get", "ii", []uint64{1152, 1 << 20}, nil, fault, nil},
		{"random_get", "ii", []uint64{1<<32 - 1, 8}, nil, fault, nil},
		{"random_get", "ii", []uint64{1 << 31, 0}, nil, success, nil},
		{"fd_write", "iiii", []uint64{3, 1152, 0, 1160}, nil, badf, nil},
		{"fd_write", "iiii", []uint64{0, 1152, 0, 1160}, nil, badf, nil},
		{"fd_write", "iiii", []uint64{2, 1152, 1025, 1160}, nil, inval, nil},
		{"fd_write", "iiii", []uint64{2, outside, 2, 1160}, nil, fault, nil},
		{"fd_write", "iiii", []uint64{2, 1152, 1, 1160}, le32(65000, 1000), fault, nil},
		{"fd_write", "iiii", []uint64{2, 1152, 1, outside + 4}, le32(1152, 1), fault, nil},
		{"fd_write", "iiii", []uint64{2, 1152, 0, 1152}, ones, success, le32(0)},
		{"fd_read", "iiii", []uint64{0, 1200, 0, 1152}, ones, success, le32(0)},
		{"fd_read", "iiii", []uint64{1, 1200, 0, 1152}, ones, badf, ones},
		{"fd_close", "i", []uint64{2}, nil, success, nil},
		{"fd_close", "i", []uint64{3}, nil, badf, nil},
		{"fd_seek", "iIii", []uint64{1, 0, 0, 1152}, nil, spipe, nil},
		{"fd_tell", "ii", []uint64{7, 1152}, nil, badf, nil},
		{"fd_fdstat_set_flags", "ii", []uint64{1, 4}, nil, success, nil},
		{"fd_fdstat_set_flags", "ii", []uint64{4, 4}, nil, badf, nil},
		{"fd_fdstat_get", "ii", []uint64{2, 1152}, ones, success, append(append([]byte{2, 0, 0, 0, 0, 0, 0, 0}, le64(1<<6)...), le64(0)...)},
		{"fd_fdstat_get", "ii", []uint64{0, 1152}, ones, success, append(append([]byte{2, 0, 0, 0, 0, 0, 0, 0}, le64(1<<1)...), le64(0)...)},
		{"fd_fdstat_get", "ii", []uint64{3, 1152}, ones, badf, ones},
		{"fd_fdstat_get", "ii", []uint64{1, outside}, nil, fault, nil},
		{"poll_oneoff", "iiii", []uint64{1152, 1300, 0, 1152}, nil, inval, nil},
		{"poll_oneoff", "iiii", []uint64{1152, 1300, 1025, 1152}, nil, inval, nil},
		{"poll_oneoff", "iiii", []uint64{outside, 1300, 1, 1152}, nil, fault, nil},
		{"poll_oneoff", "iiii", []uint64{1152, outside, 1, 1152}, nil, fault, nil},
		{"poll_oneoff", "iiii", []uint64{1152, 1300, 1, outside + 4}, make([]byte, 48), fault, nil},
		{"poll_oneoff", "iiii", []uint64{1152, 1300, 1, 1152}, append(le64(0), 3), inval, nil},
	}
	e := newEngine(t, engine.Config{})
	for _, c := range cases {
		i := instantiate(t, load(t, e, caller(c.name, c.params), abi.Limits{}))
		errno, mem := wasiCall(t, i, args(c.mem, c.args...))
		if errno != c.errno || !bytes.HasPrefix(mem[128:], c.want) {
			t.Errorf("%s(%v) answers %d with %v in memory, want %d with %v", c.name, c.args, errno, mem[128:128+len(c.want)], c.errno, c.want)
		}
	}
}

func TestPollAnswersEverySubscriptionAtOnce(t *testing.T) {
	sub := func(user uint64, kind byte, fd uint32) []byte {
		b := make([]byte, 48)
		binary.LittleEndian.PutUint64(b, user)
		b[8] = kind
		binary.LittleEndian.PutUint32(b[16:], fd)
		return b
	}
	subs := bytes.Join([][]byte{sub(11, 0, 1), sub(22, 2, 1), sub(33, 1, 9)}, nil)
	i := instantiate(t, load(t, newEngine(t, engine.Config{}), caller("poll_oneoff", "iiii"), abi.Limits{}))
	// The events go over the subscriptions, which a guest may do.
	errno, mem := wasiCall(t, i, args(subs, 1152, 1152, 3, 1148))
	mem = mem[124:]
	if n := binary.LittleEndian.Uint32(mem); errno != success || n != 3 {
		t.Fatalf("answers %d with %d events", errno, n)
	}
	for n, want := range []struct {
		user  uint64
		errno uint16
		kind  byte
	}{{11, success, 0}, {22, success, 2}, {33, badf, 1}} {
		ev := mem[4+32*n:]
		if u, e, k := binary.LittleEndian.Uint64(ev), binary.LittleEndian.Uint16(ev[8:]), ev[10]; u != want.user || e != want.errno || k != want.kind {
			t.Errorf("event %d is of %d with error %d and kind %d, want %+v", n, u, e, k, want)
		}
	}
}

func TestWorkOfTheHostIsChargedToTheGuest(t *testing.T) {
	e := newEngine(t, engine.Config{})
	fuel := func(name, params string, a ...uint64) int64 {
		i := instantiate(t, load(t, e, caller(name, params), abi.Limits{}))
		_, used, err := i.Step(context.Background(), args(bytes.Repeat(binary.LittleEndian.AppendUint32(nil, 6400), 200), a...))
		if err != nil {
			t.Fatal(err)
		}
		return used
	}
	base := fuel("random_get", "ii", 8192, 0)
	if got := fuel("random_get", "ii", 8192, 6400) - base; got != 100 {
		t.Errorf("6400 random bytes cost %d units, want 100", got)
	}
	// 100 vectors of 6400 bytes at address 6400 each.
	if got := fuel("fd_write", "iiii", 2, 1152, 100, 8192) - base; got != 100*100 {
		t.Errorf("printing 640 000 bytes costs %d units, want 10 000", got)
	}
	// Beyond the budget: noticed although the guest itself does nothing more.
	i := instantiate(t, load(t, e, caller("random_get", "ii"), abi.Limits{FuelPerStep: 50, FuelPerByte: 1}))
	_, _, err := i.Step(context.Background(), args(nil, 8192, 56000))
	mustFault(t, err, engine.FaultFuel, "units")
}

func TestExitAndRaiseEndTheStep(t *testing.T) {
	e := newEngine(t, engine.Config{})
	for name, says := range map[string]string{"proc_exit": "exit code 7", "proc_raise": "signal 7"} {
		i := instantiate(t, load(t, e, caller(name, "i"), abi.Limits{}))
		_, _, err := i.Step(context.Background(), args(nil, 7))
		mustFault(t, err, engine.FaultTrap, says)
	}
}
