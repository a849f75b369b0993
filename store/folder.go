package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	dataName   = "ao-host.db"
	folderMode = 0o700
	fileMode   = 0o600
	othersMode = 0o077
)

// prepareFolder creates the folder. A folder that others may enter is closed to
// them: the umask has no say (D2). A mode that is stricter than ours stays.
func prepareFolder(dir string) error {
	_, err := os.Lstat(dir)
	created := errors.Is(err, fs.ErrNotExist)
	if err := os.MkdirAll(dir, folderMode); err != nil {
		return translate(err, "data folder")
	}
	fi, err := os.Stat(dir)
	if err != nil {
		return translate(err, "data folder")
	}
	if created || fi.Mode().Perm()&othersMode != 0 {
		return translate(os.Chmod(dir, folderMode), "data folder")
	}
	return nil
}

// prepareFiles creates the data file and the index of its log, which SQLite would
// create with the umask's mode. Empty ones are valid to it, and both stay until
// the last connection is closed.
func prepareFiles(dir string) error {
	path := filepath.Join(dir, dataName)
	for _, name := range []string{path, path + "-shm"} {
		f, err := openPrivate(name)
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return translate(err, "data file")
		}
	}
	return nil
}

// openPrivate opens a file for reading and writing that only its owner can open,
// creating it if needed.
func openPrivate(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, fileMode)
	created := err == nil
	if errors.Is(err, fs.ErrExist) {
		f, err = os.OpenFile(name, os.O_RDWR, 0)
	}
	if err != nil {
		return nil, translate(err, "data file")
	}
	fi, err := f.Stat()
	if err == nil && (created || fi.Mode().Perm()&othersMode != 0) {
		err = f.Chmod(fileMode)
	}
	if err != nil {
		_ = f.Close()
		return nil, translate(err, "data file")
	}
	return f, nil
}

// syncFolder makes the creation and renaming of files in dir durable.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return translate(err, "data folder")
	}
	return translate(errors.Join(d.Sync(), d.Close()), "data folder")
}
