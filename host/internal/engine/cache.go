package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// codeCache keeps native code between starts.
//
//	CacheDir/<module>/<wazero dir>/<wazero key>   the code, as wazero wrote it
//	DigestDir/<module>/<digest>                   an empty file for each code file of ours
//
// <module> is the SHA-256 of the metered module, <digest> the SHA-256 of the
// code's path and bytes. Code is run only when its digest is on file, so that a
// damaged or foreign file is compiled anew instead of executed. There may be
// several digests: processes that start at the same time each publish theirs,
// whoever's file stays is known.
//
// wazero reads and writes in a private room for each compile: what was verified
// in memory is written there, so that the files it opens cannot change in
// between, and what it made is published by rename.
type codeCache struct {
	code, digests string
}

const (
	// maxCodeFiles bounds the versions (processor, wazero release) of a module.
	maxCodeFiles = 8
	// maxCodeBytes bounds one file that is read into memory.
	maxCodeBytes = 1 << 30
	// keepModules is how many modules stay in the cache, by last use.
	keepModules = 64
	roomPrefix  = ".room-"
	// roomAge is when a room left behind by a crash is removed.
	roomAge = time.Hour
)

func openCodeCache(code, digests string) (*codeCache, error) {
	if digests == "" {
		return nil, errors.New("engine: CacheDir needs a DigestDir elsewhere; set both or neither")
	}
	var err error
	if code, err = filepath.Abs(code); err != nil {
		return nil, fmt.Errorf("engine: cache folder: %w", err)
	}
	if digests, err = filepath.Abs(digests); err != nil {
		return nil, fmt.Errorf("engine: digest folder: %w", err)
	}
	if rel, err := filepath.Rel(code, digests); err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return nil, errors.New("engine: DigestDir is inside of CacheDir; choose a folder that only this user's programs write")
	}
	for _, d := range []string{code, digests} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, fmt.Errorf("engine: cache folder: %w", err)
		}
	}
	return &codeCache{code: code, digests: digests}, nil
}

// workroom is the private folder of one compile.
type workroom struct {
	cache *codeCache
	name  string // of the module
	dir   string
	// verified counts the files that came from the cache.
	verified int
	given    map[string]bool
}

// open makes a room with the verified code of the module in it. The error is
// about the cache only; a nil room means to compile without.
func (c *codeCache) open(wasm []byte) (*workroom, error) {
	sum := sha256.Sum256(wasm)
	name := hex.EncodeToString(sum[:])
	dir, err := os.MkdirTemp(c.code, roomPrefix)
	if err != nil {
		return nil, fmt.Errorf("engine: compile cache: %w", err)
	}
	r := &workroom{cache: c, name: name, dir: dir, given: map[string]bool{}}
	return r, r.fill()
}

// fill copies what can be trusted and removes what cannot.
func (r *workroom) fill() error {
	root := filepath.Join(r.cache.code, r.name)
	files, err := codeFiles(root)
	if err != nil {
		return fmt.Errorf("engine: compile cache: %w", err)
	}
	var first error
	note := func(err error) {
		if err != nil && first == nil {
			first = fmt.Errorf("engine: compile cache: %w", err)
		}
	}
	for _, rel := range files {
		path := filepath.Join(root, rel)
		b, err := readBounded(path)
		if err != nil || !r.cache.known(r.name, rel, b) {
			note(err)
			if err == nil {
				note(fmt.Errorf("%s is damaged or was not made by this engine, it is compiled anew", filepath.Join(r.name, rel)))
			}
			note(os.RemoveAll(path))
			continue
		}
		target := filepath.Join(r.dir, rel)
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			note(err)
			continue
		}
		if err := os.WriteFile(target, b, 0o600); err != nil {
			// A part of a file must not be left for wazero to find.
			note(errors.Join(err, os.Remove(target)))
			continue
		}
		r.verified++
		r.given[rel] = true
	}
	if r.verified > 0 {
		now := time.Now()
		note(os.Chtimes(root, now, now)) // last use, for prune
	}
	return first
}

// publish moves what wazero made into the cache. It reports whether wazero made
// nothing because it used what was given.
func (r *workroom) publish() (cached bool, err error) {
	files, err := codeFiles(r.dir)
	if err != nil {
		return false, fmt.Errorf("engine: compile cache: %w", err)
	}
	fresh := 0
	for _, rel := range files {
		if r.given[rel] {
			continue
		}
		fresh++
		if err := r.publishFile(rel); err != nil {
			return false, fmt.Errorf("engine: compile cache: %w", err)
		}
	}
	if fresh == 0 {
		return r.verified > 0, nil
	}
	return false, r.cache.prune()
}

func (r *workroom) publishFile(rel string) error {
	from, to := filepath.Join(r.dir, rel), filepath.Join(r.cache.code, r.name, rel)
	b, err := readBounded(from)
	if err != nil {
		return err
	}
	digests := filepath.Join(r.cache.digests, r.name)
	if err := os.MkdirAll(digests, 0o700); err != nil {
		return err
	}
	// The digest first: code without one is never used, a digest without code
	// does no harm.
	if err := os.WriteFile(filepath.Join(digests, digest(rel, b)), nil, 0o600); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return os.Rename(from, to)
}

func (r *workroom) close() {
	// What stays behind is removed by a later prune.
	_ = os.RemoveAll(r.dir)
}

// known reports whether this engine made the file.
func (c *codeCache) known(module, rel string, b []byte) bool {
	st, err := os.Lstat(filepath.Join(c.digests, module, digest(rel, b)))
	return err == nil && st.Mode().IsRegular()
}

func digest(rel string, b []byte) string {
	h := sha256.New()
	h.Write([]byte(filepath.ToSlash(rel)))
	h.Write([]byte{0})
	h.Write(b)
	return hex.EncodeToString(h.Sum(nil))
}

// codeFiles lists the code files two levels below root; none when it is not there.
func codeFiles(root string) ([]string, error) {
	var files []string
	dirs, err := os.ReadDir(root)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	for _, d := range dirs {
		if !d.IsDir() {
			continue
		}
		entries, err := os.ReadDir(filepath.Join(root, d.Name()))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			// wazero writes NAME.*.tmp first.
			if e.Type().IsRegular() && !strings.HasSuffix(e.Name(), ".tmp") && len(files) < maxCodeFiles {
				files = append(files, filepath.Join(d.Name(), e.Name()))
			}
		}
	}
	return files, nil
}

func readBounded(path string) ([]byte, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Size() > maxCodeBytes {
		return nil, fmt.Errorf("%s is no code file", path)
	}
	return os.ReadFile(path)
}

// prune removes the modules used longest ago and rooms left behind.
func (c *codeCache) prune() error {
	entries, err := os.ReadDir(c.code)
	if err != nil {
		return fmt.Errorf("engine: compile cache: %w", err)
	}
	type used struct {
		name string
		at   time.Time
	}
	var modules []used
	var errs []error
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue // removed by another process
		}
		switch name := e.Name(); {
		case strings.HasPrefix(name, roomPrefix):
			if time.Since(info.ModTime()) > roomAge {
				errs = append(errs, os.RemoveAll(filepath.Join(c.code, name)))
			}
		case len(name) == 2*sha256.Size:
			modules = append(modules, used{name, info.ModTime()})
		}
	}
	if len(modules) > keepModules {
		slices.SortFunc(modules, func(a, b used) int { return a.at.Compare(b.at) })
		for _, m := range modules[:len(modules)-keepModules] {
			errs = append(errs, os.RemoveAll(filepath.Join(c.code, m.name)), os.RemoveAll(filepath.Join(c.digests, m.name)))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("engine: compile cache: %w", err)
	}
	return nil
}
