//go:build linux || darwin

package engine

import (
	"context"

	"github.com/tetratelabs/wazero/experimental"
	"golang.org/x/sys/unix"
)

// withReservedMemory makes linear memories grow in place: the address range of
// the maximum is reserved without access and opened page by page, so growth
// never copies and unused pages cost nothing, also where the kernel does not
// overcommit.
func withReservedMemory(ctx context.Context) context.Context {
	return experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(reserve))
}

func reserve(_, most uint64) experimental.LinearMemory {
	if most == 0 {
		return &heapMemory{}
	}
	b, err := unix.Mmap(-1, 0, int(most), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		// No address space: the Go heap may still have room.
		return &heapMemory{most: most}
	}
	return &reservedMemory{b: b}
}

type reservedMemory struct {
	b    []byte
	open uint64 // bytes that can be accessed
}

// Reallocate implements experimental.LinearMemory; nil makes memory.grow fail.
func (m *reservedMemory) Reallocate(size uint64) []byte {
	if size > uint64(len(m.b)) {
		return nil
	}
	if size > m.open {
		if err := unix.Mprotect(m.b[m.open:size], unix.PROT_READ|unix.PROT_WRITE); err != nil {
			return nil
		}
		m.open = size
	}
	return m.b[:size:size]
}

// Free implements experimental.LinearMemory.
func (m *reservedMemory) Free() {
	if m.b != nil {
		_ = unix.Munmap(m.b) // cannot fail for a mapping of ours
		m.b = nil
	}
}

// heapMemory is the fallback on the Go heap.
type heapMemory struct {
	b    []byte
	most uint64
}

func (m *heapMemory) Reallocate(size uint64) []byte {
	if size > m.most {
		return nil
	}
	if size > uint64(cap(m.b)) {
		b := make([]byte, size)
		copy(b, m.b)
		m.b = b
	}
	m.b = m.b[:size]
	return m.b
}

func (m *heapMemory) Free() { m.b = nil }
