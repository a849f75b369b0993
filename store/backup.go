package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// keepBackups is how many backups stay in the folder.
const keepBackups = 3

// backup copies the database to backup-VERSION-TIME.db beside it, before the
// first migration changes it (D6). The copy appears under its name only once it
// is complete and on the disk.
func backup(ctx context.Context, db *sql.DB, dir string, version int64, now time.Time) error {
	name := filepath.Join(dir, fmt.Sprintf("backup-%d-%s.db", version, now.UTC().Format("20060102T150405Z")))
	partial := name + ".partial"
	if err := os.Remove(partial); err != nil && !errors.Is(err, os.ErrNotExist) {
		return translate(err, "backup")
	}
	f, err := openPrivate(partial) // VACUUM INTO takes an empty file
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, `VACUUM INTO ?`, partial)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(partial)
		return translate(err, "backup")
	}
	if err := os.Rename(partial, name); err != nil {
		return translate(err, "backup")
	}
	if err := syncFolder(dir); err != nil {
		return err
	}
	return removeOldBackups(dir, filepath.Base(name))
}

// backupName is what a backup is called; a file that a person named is none.
var backupName = regexp.MustCompile(`^backup-\d+-\d{8}T\d{6}Z\.db$`)

func isBackup(name string) bool { return backupName.MatchString(name) }

// removeOldBackups keeps the one just taken and the newest of the others by the time
// they were written: a clock that was set back makes the newest look old.
func removeOldBackups(dir, taken string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return translate(err, "backup")
	}
	type file struct {
		name string
		at   time.Time
	}
	var files []file
	for _, e := range entries {
		if !isBackup(e.Name()) || e.Name() == taken {
			continue
		}
		fi, err := e.Info()
		if err != nil {
			return translate(err, "backup")
		}
		files = append(files, file{filepath.Join(dir, e.Name()), fi.ModTime()})
	}
	slices.SortFunc(files, func(a, b file) int { return b.at.Compare(a.at) })
	for _, f := range files[min(len(files), keepBackups-1):] {
		if err := os.Remove(f.name); err != nil {
			return translate(err, "backup")
		}
	}
	return nil
}
