package engine_test

import (
	"context"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host/internal/engine"
)

// BenchmarkStepFloor is what a call costs with a guest that does nothing.
func BenchmarkStepFloor(b *testing.B) {
	for name, wasm := range map[string][]byte{"hand": hand{}.bytes(), "go": goGuest(b)} {
		b.Run(name, func(b *testing.B) {
			i := instantiate(b, load(b, newEngine(b, sharedConfig()), wasm, abi.Limits{}))
			ctx, in := context.Background(), []byte("echo x")
			b.ReportAllocs()
			quantiles(b, func() {
				if _, _, err := i.Step(ctx, in); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}

// BenchmarkWarmLoad reads a Go module, with the verified cache, in a new engine.
func BenchmarkWarmLoad(b *testing.B) {
	wasm := goGuest(b)
	load(b, newEngine(b, sharedConfig()), wasm, abi.Limits{})
	for b.Loop() {
		e, err := engine.New(context.Background(), sharedConfig())
		if err != nil {
			b.Fatal(err)
		}
		if m := load(b, e, wasm, abi.Limits{}); !m.Compiled().Cached {
			b.Fatal("the cache was not used")
		}
		if err := e.Close(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkInstantiate makes and closes an instance of a Go module.
func BenchmarkInstantiate(b *testing.B) {
	m := load(b, newEngine(b, sharedConfig()), goGuest(b), abi.Limits{})
	for b.Loop() {
		i, err := m.Instantiate(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		if err := i.Close(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}
