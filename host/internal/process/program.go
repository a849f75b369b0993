package process

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Program tells the file of a program from one that replaces it.
type Program struct {
	// command is the absolute path that was looked up, path where its symbolic links
	// lead: an update often turns a link only.
	command, path string
	info          fs.FileInfo
}

// Identify looks at the program behind an absolute path. The zero Program is one that
// cannot be looked at.
func Identify(command string) Program {
	path, err := filepath.EvalSymlinks(command)
	if err != nil {
		return Program{}
	}
	info, err := os.Stat(path)
	if err != nil {
		return Program{}
	}
	return Program{command: command, path: path, info: info}
}

// Replaced reports whether another program is behind the command by now. One that is
// gone is not replaced yet: an update may be under way.
func (p Program) Replaced() bool {
	if p.info == nil {
		return false
	}
	now := Identify(p.command)
	return now.info != nil && (now.path != p.path || !os.SameFile(now.info, p.info) ||
		now.info.Size() != p.info.Size() || !now.info.ModTime().Equal(p.info.ModTime()))
}
