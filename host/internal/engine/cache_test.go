package engine_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host/internal/engine"
)

func ownCache(t testing.TB) engine.Config {
	d := t.TempDir()
	return engine.Config{CacheDir: filepath.Join(d, "code"), DigestDir: filepath.Join(d, "data", "digests")}
}

// start loads a module in a new engine, as a new start of the host would.
func start(t *testing.T, cfg engine.Config) engine.CompileInfo {
	t.Helper()
	m := load(t, newEngine(t, cfg), hand{}.bytes(), abi.Limits{})
	if got := do(t, instantiate(t, m), "works"); got != "works" {
		t.Fatalf("the guest answers %q", got)
	}
	return m.Compiled()
}

// files lists the regular files below a folder.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func oneFile(t *testing.T, dir string) string {
	t.Helper()
	f := files(t, dir)
	if len(f) != 1 {
		t.Fatalf("%s holds %v, want one file", dir, f)
	}
	return f[0]
}

func TestTheSecondStartUsesTheCachedCode(t *testing.T) {
	cfg := ownCache(t)
	if info := start(t, cfg); info.Cached || info.CacheErr != nil {
		t.Fatalf("first start: %+v", info)
	}
	info := start(t, cfg)
	if !info.Cached || info.CacheErr != nil {
		t.Fatalf("second start: %+v", info)
	}
	for _, dir := range []string{cfg.CacheDir, cfg.DigestDir} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			st, err := d.Info()
			if err == nil && st.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s has mode %s", path, st.Mode())
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	oneFile(t, cfg.CacheDir) // no work folder stays behind
}

// D8: a corrupt entry recompiles, and what was put there by someone else is
// never run.
func TestD8_ADamagedOrForeignEntryIsCompiledAnew(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, cfg engine.Config, code string){
		"a byte of the code changed": func(t *testing.T, _ engine.Config, code string) {
			b, err := os.ReadFile(code)
			if err != nil {
				t.Fatal(err)
			}
			b[len(b)/2] ^= 1
			write(t, code, b)
		},
		"the code was cut": func(t *testing.T, _ engine.Config, code string) {
			if err := os.Truncate(code, 1000); err != nil {
				t.Fatal(err)
			}
		},
		"the code is empty": func(t *testing.T, _ engine.Config, code string) { write(t, code, nil) },
		"the digest is missing": func(t *testing.T, cfg engine.Config, _ string) {
			if err := os.RemoveAll(cfg.DigestDir); err != nil {
				t.Fatal(err)
			}
		},
		"another module's code lies in its place": func(t *testing.T, cfg engine.Config, code string) {
			other := ownCache(t)
			load(t, newEngine(t, other), hand{step: unreachable}.bytes(), abi.Limits{})
			b, err := os.ReadFile(oneFile(t, other.CacheDir))
			if err != nil {
				t.Fatal(err)
			}
			write(t, code, b)
		},
		"the code is a link": func(t *testing.T, _ engine.Config, code string) {
			if err := os.Rename(code, code+".moved"); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(code+".moved", filepath.Join(t.TempDir(), "elsewhere")); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Join(t.TempDir(), "elsewhere"), code); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := ownCache(t)
			start(t, cfg)
			harm(t, cfg, oneFile(t, cfg.CacheDir))
			if info := start(t, cfg); info.Cached {
				t.Fatalf("the entry was used: %+v", info)
			} else if name != "the code is a link" && info.CacheErr == nil {
				t.Error("nothing was said about the entry")
			}
			if info := start(t, cfg); !info.Cached || info.CacheErr != nil {
				t.Errorf("the entry was not mended: %+v", info)
			}
		})
	}
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestCodeOfOneModuleIsNotRunForAnother(t *testing.T) {
	// The digest binds code to its module: moving a whole entry of one module to
	// the folder of another, code and name, must not make it run.
	cfg := ownCache(t)
	load(t, newEngine(t, cfg), hand{}.bytes(), abi.Limits{})
	first := oneFile(t, cfg.CacheDir)
	load(t, newEngine(t, cfg), hand{step: unreachable}.bytes(), abi.Limits{})
	var second string
	for _, f := range files(t, cfg.CacheDir) {
		if f != first {
			second = f
		}
	}
	b, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	write(t, second, b)
	m := load(t, newEngine(t, cfg), hand{step: unreachable}.bytes(), abi.Limits{})
	if m.Compiled().Cached {
		t.Error("the code of another module was used")
	}
	_, _, err = instantiate(t, m).Step(context.Background(), nil)
	mustFault(t, err, engine.FaultTrap, "unreachable")
}

// D8: parallel first starts, here of several engines as of several processes.
func TestD8_ParallelFirstStartsLeaveAWorkingCache(t *testing.T) {
	cfg := ownCache(t)
	wasm := slowHand(400).bytes()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			e, err := engine.New(context.Background(), cfg)
			if err != nil {
				t.Error(err)
				return
			}
			m, err := e.Load(context.Background(), wasm, abi.Limits{})
			if err != nil {
				t.Error(err)
				return
			}
			if err := m.Compiled().CacheErr; err != nil {
				t.Error(err)
			}
			i, err := m.Instantiate(context.Background())
			if err != nil {
				t.Error(err)
				return
			}
			if out, _, err := i.Step(context.Background(), []byte("ok")); err != nil || string(out) != "ok" {
				t.Errorf("%q, %v", out, err)
			}
			if err := e.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if info := load(t, newEngine(t, cfg), wasm, abi.Limits{}).Compiled(); !info.Cached || info.CacheErr != nil {
		t.Errorf("afterwards: %+v", info)
	}
}

func TestAModuleLoadsWithoutACacheWhenTheFolderCannotBeWritten(t *testing.T) {
	if os.Geteuid() == 0 {
		// Root writes anywhere; a file in the place of the folder stops it too.
		cfg := ownCache(t)
		e := newEngine(t, cfg)
		if err := os.RemoveAll(cfg.CacheDir); err != nil {
			t.Fatal(err)
		}
		write(t, cfg.CacheDir, []byte("in the way"))
		checkUncached(t, e)
		return
	}
	cfg := ownCache(t)
	e := newEngine(t, cfg)
	if err := os.Chmod(cfg.CacheDir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(cfg.CacheDir, 0o700) })
	checkUncached(t, e)
}

func checkUncached(t *testing.T, e *engine.Engine) {
	t.Helper()
	m := load(t, e, hand{}.bytes(), abi.Limits{})
	if info := m.Compiled(); info.Cached || info.CacheErr == nil {
		t.Errorf("%+v, want an error about the cache", info)
	}
	if got := do(t, instantiate(t, m), "still works"); got != "still works" {
		t.Errorf("the step returned %q", got)
	}
}

func TestFoldersThatWouldDefeatTheCheckAreRefused(t *testing.T) {
	d := t.TempDir()
	for name, cfg := range map[string]engine.Config{
		"no digest folder":          {CacheDir: filepath.Join(d, "c")},
		"the same folder":           {CacheDir: filepath.Join(d, "c"), DigestDir: filepath.Join(d, "c")},
		"digests inside the cache":  {CacheDir: filepath.Join(d, "c"), DigestDir: filepath.Join(d, "c", "d")},
		"digests inside, roundably": {CacheDir: filepath.Join(d, "c"), DigestDir: filepath.Join(d, "x", "..", "c", "..d")},
	} {
		if _, err := engine.New(context.Background(), cfg); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := engine.New(context.Background(), engine.Config{CacheDir: filepath.Join(d, "c"), DigestDir: filepath.Join(d, "c2")}); err != nil {
		t.Errorf("two folders side by side: %v", err)
	}
}

func TestOldEntriesAndRoomsLeftBehindAreRemoved(t *testing.T) {
	cfg := ownCache(t)
	e := newEngine(t, cfg)
	old := time.Now().Add(-48 * time.Hour)
	var names []string
	for n := range 70 {
		name := strings.Repeat("0", 62) + string([]byte{'a' + byte(n/26), 'a' + byte(n%26)})
		names = append(names, name)
		for _, dir := range []string{cfg.CacheDir, cfg.DigestDir} {
			if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		at := old.Add(time.Duration(n) * time.Minute)
		if err := os.Chtimes(filepath.Join(cfg.CacheDir, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	stale, fresh := filepath.Join(cfg.CacheDir, ".room-stale"), filepath.Join(cfg.CacheDir, ".room-fresh")
	for _, room := range []string{stale, fresh} {
		if err := os.Mkdir(room, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(stale, old, old); err != nil {
		t.Fatal(err)
	}
	if err := load(t, e, hand{}.bytes(), abi.Limits{}).Compiled().CacheErr; err != nil {
		t.Fatal(err)
	}
	exists := func(path string) bool { _, err := os.Stat(path); return err == nil }
	if exists(stale) || !exists(fresh) {
		t.Errorf("the stale room is there: %t, the fresh one: %t", exists(stale), exists(fresh))
	}
	for n, name := range names {
		want := n >= 7 // 70 and the new one make 71, 64 stay
		if got := exists(filepath.Join(cfg.CacheDir, name)); got != want {
			t.Errorf("entry %d is there: %t, want %t", n, got, want)
		}
		if got := exists(filepath.Join(cfg.DigestDir, name)); got != want {
			t.Errorf("digests of entry %d are there: %t, want %t", n, got, want)
		}
	}
}
