package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/bundle"
)

// writeBundle writes the archive for a bug report and returns its size in bytes.
// A file that is there is not overwritten.
func (a *App) writeBundle(ctx context.Context, path string, withText bool, v doctorView) (size int64, err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return 0, usagef("%s is there already; name another file", path)
	}
	if err != nil {
		return 0, usagef("the archive cannot be written: %v", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(path)
		}
	}()
	who := bundle.Here()
	who.Environ = append(who.Environ, a.Environ...)
	if home := a.Env("HOME"); filepath.IsAbs(home) {
		who.Home = home
	}
	who.Words[strings.Join(v.Environment.Path, string(filepath.ListSeparator))] = "$PATH"
	w := bufio.NewWriter(f)
	err = bundle.Write(ctx, w, bundle.Input{
		Report: v, Diagnosis: v.Diagnosis, Dir: v.Data.Dir, Log: filepath.Join(v.Data.Dir, daemonLog), WithText: withText, Person: who, Now: time.Now(),
	})
	if err = errors.Join(err, w.Flush()); err == nil {
		if fi, serr := f.Stat(); serr == nil {
			size = fi.Size()
		}
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return 0, fmt.Errorf("the archive could not be written: %w", err)
	}
	return size, nil
}
