package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/cli"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/daemon"
)

// TestMain makes the test binary the commands of the scripts.
func TestMain(m *testing.M) {
	testscript.Main(cleaning{m}, map[string]func(){
		"ao-host": func() {
			// The name of this executable is the test's; the script finds the command by
			// PATH, and so must the demo.
			self, err := exec.LookPath(os.Args[0])
			if err != nil {
				// It was started by its path, as the harness of a script, or under a short
				// PATH; the script's variable says where it is.
				if self = os.Getenv("SELF"); self == "" {
					self = os.Args[0]
				}
			}
			os.Exit((&cli.App{
				Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
				Env: os.Getenv, Environ: os.Environ(), Open: open, Connect: connect([]string{self}), Self: []string{self}, Signals: signals,
			}).Run(context.Background()))
		},
		// exits runs a command and wants an exit code: exits 3 ao-host run …
		"exits": func() {
			cmd := exec.Command(os.Args[2], os.Args[3:]...)
			cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
			err := cmd.Run()
			if got := cmd.ProcessState.ExitCode(); fmt.Sprint(got) != os.Args[1] {
				fmt.Fprintf(os.Stderr, "exit code %d, wanted %s (%v)\n", got, os.Args[1], err)
				os.Exit(1)
			}
		},
	})
}

// patience only delays failures. It is long: the machine may be busy.
const patience = 3 * time.Minute

// cleaning removes the folders that the tests share after them.
type cleaning struct{ *testing.M }

func (c cleaning) Run() int {
	code := c.M.Run()
	for _, dir := range []string{warmDir, productDir} {
		if dir != "" {
			_ = os.RemoveAll(dir)
		}
	}
	return code
}

// warmDir is the folder that warm made, if it did.
var warmDir string

// warm is a data folder that has run a harness once: the compiled bindings in
// it are copied to the folders of the tests, which would otherwise compile them
// again and again.
var warm = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ao-host-test-warm-")
	if err != nil {
		return "", err
	}
	warmDir = dir
	cmd := exec.Command("ao-host", "run", "--harness", "codex", "--launch", "ao-host", "--launch", "scripted-harness", "--dir", dir, "hello")
	cmd.Env = append(os.Environ(), "AO_HOST_DATA="+filepath.Join(dir, "data"), "CODEX_HOME="+dir, "HOME="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return dir, fmt.Errorf("%w\n%s", err, out)
	}
	return dir, nil
})

// warmUp copies the compiled bindings into a data folder.
func warmUp(data string) error {
	dir, err := warm()
	if err != nil {
		return err
	}
	for _, part := range []string{filepath.Join("cache", "native"), "native-digests"} {
		if err := os.MkdirAll(filepath.Join(data, filepath.Dir(part)), 0o700); err != nil {
			return err
		}
		if out, err := exec.Command("cp", "-R", filepath.Join(dir, "data", part), filepath.Join(data, part)).CombinedOutput(); err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
	}
	return os.Chmod(data, 0o700)
}

func TestScripts(t *testing.T) {
	testscript.Run(t, scriptParams(t, filepath.Join("testdata", "script")))
}

// scriptParams is what the scripts of a folder are run with.
func scriptParams(t *testing.T, dir string) testscript.Params {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return testscript.Params{
		Dir:                 dir,
		WorkdirRoot:         shortDir(t),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(e *testscript.Env) error {
			e.Setenv("AO_HOST_DATA", filepath.Join(e.WorkDir, "data"))
			e.Setenv("REPO", root)
			self, err := exec.LookPath("ao-host")
			if err != nil {
				return err
			}
			e.Setenv("SELF", self)
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("CODEX_HOME", filepath.Join(e.WorkDir, "codex-home"))
			e.Setenv("TERM", "dumb")
			e.Values["masks"] = &masks{names: map[string]string{}}
			// A daemon takes the PATH of the login shell.
			profile := "PATH='" + e.Getenv("PATH") + "'\nexport PATH\n"
			if err := os.WriteFile(filepath.Join(e.WorkDir, ".profile"), []byte(profile), 0o644); err != nil {
				return err
			}
			data := filepath.Join(e.WorkDir, "data")
			// Commands of the script may have started a daemon.
			e.Defer(func() {
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				defer cancel()
				if _, err := daemon.Stop(ctx, data); err != nil {
					t.Error(err)
				}
			})
			if err := warmUp(filepath.Join(e.WorkDir, "data")); err != nil {
				return err
			}
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"truncate":  truncate,
			"columns":   columns,
			"setid":     setid,
			"samebytes": samebytes,
			"newer":     newer,
			"await":     await,
			"readme":    readme,
			"mask":      mask,
			"running":   running,
			"setturn":   setturn,
		},
	}
}

// truncate keeps the first part of a file: truncate FROM TO 1/2.
func truncate(ts *testscript.TestScript, _ bool, args []string) {
	var num, den int
	if _, err := fmt.Sscanf(args[2], "%d/%d", &num, &den); err != nil {
		ts.Fatalf("%v", err)
	}
	b := ts.ReadFile(args[0])
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(b[:len(b)*num/den]), 0o644))
}

// columns checks that no line of a file is wider than 80 columns, unless it is one
// word: paths are not broken.
func columns(ts *testscript.TestScript, _ bool, args []string) {
	for i, line := range strings.Split(ts.ReadFile(args[0]), "\n") {
		if n := len([]rune(line)); n > 80 && len(strings.Fields(line)) > 1 {
			ts.Fatalf("line %d of %s has %d columns: %s", i+1, args[0], n, line)
		}
	}
}

// setid puts what follows a prefix in a file into a variable:
// setid ID stdout 'conversation '.
func setid(ts *testscript.TestScript, _ bool, args []string) {
	for line := range strings.Lines(ts.ReadFile(args[1])) {
		if _, id, ok := strings.Cut(strings.TrimSpace(line), args[2]); ok {
			ts.Setenv(args[0], strings.Trim(id, `",`))
			return
		}
	}
	ts.Fatalf("no line with %q in %s", args[2], args[1])
}

func samebytes(ts *testscript.TestScript, neg bool, args []string) {
	if (ts.ReadFile(args[0]) == ts.ReadFile(args[1])) == neg {
		ts.Fatalf("%s and %s: the same bytes: %v", args[0], args[1], neg)
	}
}

// newer gives a data file the schema version of a program of the future: the
// number is at byte 60 of SQLite's header (user_version).
func newer(ts *testscript.TestScript, _ bool, args []string) {
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_RDWR, 0)
	ts.Check(err)
	_, err = f.WriteAt([]byte{0, 0, 0, 99}, 60)
	ts.Check(err)
	ts.Check(f.Close())
}

// await waits for a file.
func await(ts *testscript.TestScript, _ bool, args []string) {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
	}
	ts.Fatalf("%s did not appear", args[0])
}

// shortDir is a folder for scripts: their sockets and what is printed of their paths
// have to fit, also where temporary files have a long name, as on macOS.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "ao-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
