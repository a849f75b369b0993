//go:build !linux && !darwin

package engine

import "context"

// withReservedMemory leaves the memory to wazero, which copies when it grows.
func withReservedMemory(ctx context.Context) context.Context { return ctx }
