// The guest of the engine's tests: the first word of an event says what to do.
// It depends on nothing of ours, so that the engine is tested against the ABI
// alone.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
	"unsafe"
)

var (
	input, output []byte
	kept          [][]byte
	// The state that ao_save writes.
	count int
	sum   [32]byte
)

func init() { debug.SetGCPercent(10) }

func location(b []byte) int64 {
	return int64(uintptr(unsafe.Pointer(unsafe.SliceData(b))))<<32 | int64(len(b))
}

//go:wasmexport ao_alloc
func alloc(n int32) int32 {
	if int(n) > cap(input) || input == nil {
		input = make([]byte, max(n, 1))
	}
	input = input[:n]
	return int32(uintptr(unsafe.Pointer(unsafe.SliceData(input))))
}

//go:wasmexport ao_step
func step(n int32) int64 {
	runtime.Gosched()
	count++
	in := string(input[:n])
	sum = sha256.Sum256(append(sum[:], in...))
	output = append(output[:0], run(in)...)
	return location(output)
}

func run(in string) string {
	cmd, arg, _ := strings.Cut(in, " ")
	n, _ := strconv.Atoi(arg)
	switch cmd {
	case "echo":
		return arg
	case "state":
		return fmt.Sprint(count, " ", hex.EncodeToString(sum[:]))
	case "spin":
		for i := 0; ; i++ {
			if i == -1 {
				return "never"
			}
		}
	case "sleep":
		time.Sleep(time.Duration(n) * time.Millisecond)
		return "woke up"
	case "panic":
		panic("the guest was told to panic: " + arg)
	case "exit":
		os.Exit(n)
	case "keep": // megabytes, touched
		for range n {
			b := make([]byte, 1<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			kept = append(kept, b)
		}
		return "kept"
	case "litter":
		var last []byte
		for range n {
			last = make([]byte, 1024)
		}
		return strconv.Itoa(len(last))
	case "large":
		return strings.Repeat("x", n)
	case "print":
		fmt.Fprint(os.Stderr, arg)
		fmt.Fprint(os.Stdout, arg)
		return ""
	case "now":
		t := time.Now()
		return fmt.Sprint(t.UnixNano(), " ", time.Since(t))
	case "random":
		return fmt.Sprint(rand.Uint64())
	case "world":
		_, readErr := os.ReadFile("/etc/passwd")
		_, dirErr := os.ReadDir(".")
		writeErr := os.WriteFile("x", nil, 0o600)
		return fmt.Sprint(len(os.Args), len(os.Environ()), readErr != nil, dirErr != nil, writeErr != nil)
	}
	return "unknown command " + cmd
}

//go:wasmexport ao_save
func save() int64 {
	output = fmt.Appendf(output[:0], "%d %s", count, hex.EncodeToString(sum[:]))
	return location(output)
}

//go:wasmexport ao_load
func load(n int32) int32 {
	var s string
	if _, err := fmt.Sscan(string(input[:n]), &count, &s); err != nil {
		return 1
	}
	b, err := hex.DecodeString(s)
	if err != nil || copy(sum[:], b) != len(sum) {
		return 2
	}
	return 0
}

func main() {}
