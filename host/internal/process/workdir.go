package process

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// RealDir checks a working directory and returns it with all symbolic links
// resolved. A conversation records the result, so that a later start notices when
// the name leads somewhere else ([Spec.RealDir], SCENARIOS L3).
func RealDir(dir string) (string, error) {
	if err := checkDir(dir, ""); err != nil {
		return "", err
	}
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", errorf(CodeLaunchFailed, err, "The working directory %q cannot be resolved: %v.", dir, err)
	}
	return resolved, nil
}

func checkDir(dir, recorded string) error {
	if !filepath.IsAbs(dir) {
		return errorf(CodeLaunchFailed, nil, "The working directory %q is not an absolute path. Give the whole path.", dir)
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if target, linkErr := os.Readlink(dir); linkErr == nil {
			return errorf(CodeDirMissing, err, "The working directory %q is a symbolic link to %q, which does not exist. Restore it or relocate the conversation.", dir, target)
		}
		return errorf(CodeDirMissing, err, "The working directory %q does not exist. Restore it or relocate the conversation.", dir)
	case isNotDir(err):
		return errorf(CodeDirNotADirectory, err, "A part of the working directory's path %q is not a directory. Restore it or relocate the conversation.", dir)
	case err != nil:
		return errorf(CodeLaunchFailed, err, "The working directory %q cannot be read: %v.", dir, err)
	case !info.IsDir():
		return errorf(CodeDirNotADirectory, nil, "The working directory %q is not a directory. Restore it or relocate the conversation.", dir)
	}
	if recorded == "" {
		return nil
	}
	now, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return errorf(CodeLaunchFailed, err, "The working directory %q cannot be resolved: %v.", dir, err)
	}
	if now != recorded {
		return errorf(CodeDirChanged, nil, "The working directory %q now leads to %q; the conversation was started in %q. Restore it or relocate the conversation.", dir, now, recorded)
	}
	return nil
}
