package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/aoagents/ao-host/host"
)

// folder is a data folder under its one true name, so that client and daemon
// agree on what follows from the name.
type folder struct{ dir string }

// findFolder returns the folder if it exists.
func findFolder(dir string) (folder, bool, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return folder{}, false, nil
	case err != nil:
		return folder{}, false, folderError(dir, err)
	}
	return folder{abs}, true, nil
}

// makeFolder creates the folder where it is missing and closes it to others,
// whatever the umask says (D2).
func makeFolder(dir string) (folder, error) {
	f, found, err := findFolder(dir)
	if err != nil {
		return f, err
	}
	if !found {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return f, folderError(dir, err)
		}
		if f, _, err = findFolder(dir); err != nil {
			return f, err
		}
	}
	fi, err := os.Stat(f.dir)
	if err == nil && (!found || fi.Mode().Perm()&0o077 != 0) {
		err = os.Chmod(f.dir, 0o700)
	}
	if err != nil {
		return f, folderError(dir, err)
	}
	return f, nil
}

func folderError(dir string, err error) error {
	return &host.Error{Code: host.CodeStoreReadOnly, Detail: fmt.Sprintf("The data folder %s cannot be used: %v.", dir, err), Err: err}
}

func (f folder) path(name string) string { return filepath.Join(f.dir, name) }

// openPrivate opens a file of the folder that only its owner can open, whatever
// the umask says.
func (f folder) openPrivate(name string, flags int) (*os.File, error) {
	file, err := os.OpenFile(f.path(name), flags|os.O_CREATE, 0o600)
	if err != nil {
		return nil, folderError(f.dir, err)
	}
	if err := file.Chmod(0o600); err != nil {
		_ = file.Close()
		return nil, folderError(f.dir, err)
	}
	return file, nil
}
