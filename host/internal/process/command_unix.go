//go:build linux || darwin

package process

import (
	"bytes"
	"debug/elf"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// findCommand returns the absolute path of a command.
func findCommand(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, checkProgram(name)
	}
	path, ok := lookupEnv(env, "PATH")
	if !ok || path == "" {
		return "", errorf(CodeHarnessNotFound, fs.ErrNotExist, "The command %q cannot be looked up: PATH is not set. Set PATH or give the command's absolute path.", name)
	}
	if found := lookPath(name, path); found != "" {
		return found, nil
	}
	return "", errorf(CodeHarnessNotFound, fs.ErrNotExist, "The command %q was not found in any folder of PATH (%s). Install it, or give its absolute path.", name, path)
}

func checkProgram(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || isNotDir(err):
		return errorf(CodeHarnessNotFound, err, "The command %q does not exist. Install it, or correct its path.", path)
	case err != nil:
		return errorf(CodeLaunchFailed, err, "The command %q cannot be read: %v.", path, err)
	case info.IsDir():
		return errorf(CodeLaunchFailed, nil, "The command %q is a directory. Give the path of the program in it.", path)
	case !executable(path):
		return errorf(CodeLaunchFailed, fs.ErrPermission, "The command %q may not be executed by this user. Make it executable (chmod +x).", path)
	}
	return nil
}

// lookPath returns the first executable called name in the absolute folders of
// path, or nothing.
func lookPath(name, path string) string {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && !info.IsDir() && executable(file) {
			return file
		}
	}
	return ""
}

func executable(path string) bool {
	return unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS) == nil
}

func isNotDir(err error) bool { return errors.Is(err, unix.ENOTDIR) }

const (
	// shebangSize is how much of a script Linux reads to find its interpreter.
	shebangSize = 256
	// maxInterpreters is how deep Linux follows scripts that interpret scripts.
	maxInterpreters = 4
)

// checkInterpreter looks for the interpreter of a script. A harness installed
// with npm is a script that starts with "#!/usr/bin/env node": under the short
// PATH of a desktop session it is found by its absolute path and still exits with
// 127, because node is not (SCENARIOS L1).
func checkInterpreter(program, dir string, env []string) error {
	script := program
	for range maxInterpreters {
		words := shebang(script)
		if len(words) == 0 {
			return nil
		}
		interpreter := words[0]
		if !filepath.IsAbs(interpreter) {
			interpreter = filepath.Join(dir, interpreter)
		}
		if info, err := os.Stat(interpreter); err != nil || info.IsDir() || !executable(interpreter) {
			return errorf(CodeInterpreterMissing, fs.ErrNotExist, "The script %q needs the interpreter %q, which is missing or may not be executed. Install it.", script, words[0])
		}
		if filepath.Base(interpreter) == "env" {
			name := envCommand(words[1:])
			if name == "" || strings.Contains(name, "/") {
				return nil
			}
			path, _ := lookupEnv(env, "PATH")
			if interpreter = lookPath(name, path); interpreter == "" {
				return errorf(CodeInterpreterMissing, fs.ErrNotExist, "The script %q needs the interpreter %q, which was not found in any folder of PATH (%s). Install it, or make the login shell set a PATH that has it.", script, name, path)
			}
		}
		script = interpreter
	}
	return nil
}

// shebang returns the words of a script's first line, or nothing if the file is
// no script or cannot be read.
func shebang(file string) []string {
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	head := make([]byte, shebangSize)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	line, ok := bytes.CutPrefix(head[:n], []byte("#!"))
	if !ok {
		return nil
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	// Only space and tab separate words here: the carriage return of a file with
	// DOS line ends belongs to the interpreter's name, and is why it is not found.
	return strings.FieldsFunc(string(line), func(r rune) bool { return r == ' ' || r == '\t' })
}

// envCommand returns the command among the arguments of env(1).
func envCommand(args []string) string {
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "-u" || a == "-C":
			i++
		case strings.HasPrefix(a, "-S") && len(a) > 2:
			return a[2:]
		case strings.HasPrefix(a, "-") || strings.Contains(a, "="):
		default:
			return a
		}
	}
	return ""
}

// loader returns the program interpreter an ELF file names: a binary built for
// another C library fails with a bare "no such file or directory" when it is
// missing.
func loader(file string) string {
	f, err := elf.Open(file)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP && p.Filesz < 4096 {
			name, err := io.ReadAll(io.LimitReader(p.Open(), 4096))
			if err != nil {
				return ""
			}
			return string(bytes.TrimRight(name, "\x00"))
		}
	}
	return ""
}

// launchError explains why the system did not start a program that passed all
// checks.
func launchError(program, dir, recorded string, err error) error {
	if dir != "" {
		// The directory may have gone since it was checked.
		if dirErr := checkDir(dir, recorded); dirErr != nil {
			return dirErr
		}
	}
	switch {
	case errors.Is(err, unix.ENOENT):
		if name := loader(program); name != "" {
			return errorf(CodeInterpreterMissing, err, "The program %q needs the loader %q, which is missing: it was built for another C library. Install the build for this system.", program, name)
		}
	case errors.Is(err, unix.ENOEXEC):
		return errorf(CodeLaunchFailed, err, "The file %q is neither a program for this machine nor a script with a #! line. Install the build for this system.", program)
	case errors.Is(err, unix.E2BIG):
		return errorf(CodeLaunchFailed, err, "The arguments and the environment of %q are too long. Shorten them.", program)
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE), errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENOMEM):
		return errorf(CodeLaunchFailed, err, "The system has no room for another process (%v). End some and try again.", err)
	}
	return errorf(CodeLaunchFailed, err, "The program %q could not be started: %v.", program, err)
}
