//go:build linux || darwin

package process_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aoagents/ao-host/host/internal/process"
)

func readReport(t *testing.T, p *process.Process) report {
	t.Helper()
	var r report
	if err := json.NewDecoder(p.Stdout()).Decode(&r); err != nil {
		t.Fatalf("%v; stderr: %s", err, p.Stderr())
	}
	return r
}

func write(t *testing.T, path, text string, mode os.FileMode) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

const awkward = "a b'c\"d $HOME ü 日本 \\ %s;&|*"

func TestL2_AwkwardNamesOfProgramProjectAndArgumentsArriveUnchanged(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "bin "+awkward)
	project, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project = filepath.Join(project, "project "+awkward)
	for _, dir := range []string{bin, project} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(bin, "harness "+awkward)
	if err := os.Symlink(self(t), program); err != nil {
		t.Fatal(err)
	}
	script := write(t, filepath.Join(bin, "script "+awkward), "#!/bin/sh\nexec \"$REAL\" \"$@\"\n", 0o755)
	args := []string{"--dir", project, awkward, "", "\n"}
	env := append(childEnv("report"), "REAL="+program)
	for _, argv0 := range []string{program, script, filepath.Base(program)} {
		p := startSpec(t, process.Spec{Argv: append([]string{argv0}, args...), Dir: project, Env: append(env, "PATH="+bin+":/usr/bin:/bin")})
		r := readReport(t, p)
		if !slices.Equal(r.Args, args) || r.Cwd != project || r.PWD != project {
			t.Errorf("%s got %q in %q (PWD %q)", argv0, r.Args, r.Cwd, r.PWD)
		}
		waitExit(t, p)
	}
}

func TestTheChildLeadsItsOwnGroupWithoutATerminal(t *testing.T) {
	p := start(t, "report")
	r := readReport(t, p)
	if r.PID != p.PID() || r.Group != p.PID() || r.Terminal {
		t.Errorf("pid %d, group %d, terminal %v; want pid and group %d and no terminal", r.PID, r.Group, r.Terminal, p.PID())
	}
	if p.StartTime() <= 0 {
		t.Errorf("start time %d", p.StartTime())
	}
}

func TestTheEnvironmentIsExactlyTheGivenOne(t *testing.T) {
	t.Setenv("LEAK", "from the host")
	dir := t.TempDir()
	p := startSpec(t, process.Spec{Argv: []string{self(t)}, Dir: dir, Env: []string{"A=0", roleVar + "=report", "PWD=/elsewhere", "A=1"}})
	got := readReport(t, p).Env
	slices.Sort(got)
	if want := []string{"A=1", roleVar + "=report", "PWD=" + dir}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	p = startSpec(t, process.Spec{Argv: []string{"/usr/bin/env"}})
	if out, err := io.ReadAll(p.Stdout()); err != nil || len(out) != 0 {
		t.Errorf("with no environment the child has %q, %v", out, err)
	}
}

func TestPipesCarryBothDirections(t *testing.T) {
	p := start(t, "echo")
	go func() {
		_, _ = io.WriteString(p.Stdin(), strings.Repeat("x", 1<<20))
		_ = p.Stdin().Close()
	}()
	out, err := io.ReadAll(p.Stdout())
	if err != nil || len(out) != 1<<20 {
		t.Errorf("%d bytes came back, %v", len(out), err)
	}
	if e := waitExit(t, p); e != (process.Exit{}) {
		t.Errorf("got %v", e)
	}
}

func TestExitTellsCodeOrSignal(t *testing.T) {
	for _, tc := range []struct {
		role string
		arg  int
		want process.Exit
		text string
	}{
		{"exit", 0, process.Exit{}, "exit code 0"},
		{"exit", 3, process.Exit{Code: 3}, "exit code 3"},
		{"exit", 255, process.Exit{Code: 255}, "exit code 255"},
		{"signal", int(syscall.SIGKILL), process.Exit{Code: -1, Signal: "SIGKILL"}, "signal SIGKILL"},
		{"signal", int(syscall.SIGTERM), process.Exit{Code: -1, Signal: "SIGTERM"}, "signal SIGTERM"},
		{"signal", int(syscall.SIGSEGV), process.Exit{Code: -1, Signal: "SIGSEGV"}, "signal SIGSEGV"},
	} {
		t.Run(fmt.Sprint(tc.role, tc.arg), func(t *testing.T) {
			p := start(t, tc.role, fmt.Sprint(tc.arg))
			got := waitExit(t, p)
			if tc.arg == int(syscall.SIGSEGV) && tc.role == "signal" {
				// The Go runtime turns a sent SIGSEGV into a panic, exit code 2.
				if got.Code != 2 {
					t.Errorf("got %v", got)
				}
				return
			}
			if got != tc.want || got.String() != tc.text {
				t.Errorf("got %v, want %v", got, tc.want)
			}
			if tc.role == "exit" && p.Stderr() != "last words" {
				t.Errorf("the last stderr is %q", p.Stderr())
			}
		})
	}
}

func TestRule21_AClosedStdoutIsNotAnExit(t *testing.T) {
	p := start(t, "close-stdout")
	if _, err := io.ReadAll(p.Stdout()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Done():
		t.Fatal("the end of stdout was taken for the exit")
	case <-time.After(100 * time.Millisecond):
	}
	if e := p.Exit(); e.Code != -1 || e.Signal != "" {
		t.Errorf("a running process has the exit %v", e)
	}
	if gone, err := process.Gone(p.PID(), p.StartTime()); gone || err != nil {
		t.Errorf("Gone says %v, %v of a running process", gone, err)
	}
	_ = p.Stdin().Close()
	if e := waitExit(t, p); e.Code != 7 {
		t.Errorf("got %v", e)
	}
}

func TestRule21_TheExitIsSeenAlthoughAGrandchildHoldsThePipes(t *testing.T) {
	p := start(t, "family", "sleep", "stubborn+setsid", "leave")
	if e := waitExit(t, p); e.Code != 5 {
		t.Errorf("got %v", e)
	}
	// One that is out of reach by then, see End.
	_ = syscall.Kill(hear(t, p.Stdout(), 2)["stubborn"], syscall.SIGKILL)
}

func TestStderrKeepsItsEnd(t *testing.T) {
	p := startSpec(t, process.Spec{Argv: []string{self(t), "20000"}, Env: childEnv("stderr"), StderrLimit: 100})
	waitExit(t, p)
	got := p.Stderr()
	if !strings.HasPrefix(got, "line 199") || !strings.HasSuffix(got, "\nline 19999\n") || len(got) > 100 || len(got) < 80 {
		t.Errorf("stderr is %q", got)
	}
	p = start(t, "stderr", "3")
	waitExit(t, p)
	if got := p.Stderr(); got != "line 0\nline 1\nline 2\n" {
		t.Errorf("stderr is %q", got)
	}
}

func TestACommandThatDoesNotExistIsNamedWithThePathSearched(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "not-executable"), "#!/bin/sh\n", 0o644)
	write(t, filepath.Join(dir, "garbage"), "\x00\x01garbage", 0o755)
	env := []string{"PATH=/nowhere:" + dir}
	for _, tc := range []struct {
		argv0 string
		env   []string
		code  string
		say   []string
	}{
		{"no-such-harness", env, process.CodeHarnessNotFound, []string{`"no-such-harness"`, "/nowhere:" + dir}},
		{"not-executable", env, process.CodeHarnessNotFound, []string{`"not-executable"`}},
		{"no-such-harness", nil, process.CodeHarnessNotFound, []string{"PATH is not set"}},
		{"/nowhere/harness", env, process.CodeHarnessNotFound, []string{`"/nowhere/harness"`}},
		{dir + "/garbage/harness", env, process.CodeHarnessNotFound, []string{"does not exist"}},
		{dir + "/not-executable", env, process.CodeLaunchFailed, []string{"chmod +x"}},
		{dir, env, process.CodeLaunchFailed, []string{"is a directory"}},
		{"garbage", env, process.CodeLaunchFailed, []string{"neither a program"}},
		{"", env, process.CodeLaunchFailed, []string{"no command"}},
		{"a\x00b", env, process.CodeLaunchFailed, []string{"zero byte"}},
	} {
		t.Run(tc.argv0, func(t *testing.T) {
			_, err := process.Start(process.Spec{Argv: []string{tc.argv0}, Env: tc.env})
			wantCode(t, err, tc.code, tc.say...)
		})
	}
	_, err := process.Start(process.Spec{})
	wantCode(t, err, process.CodeLaunchFailed, "no command")
}

func TestACommandIsNeverTakenFromTheProjectThroughARelativePath(t *testing.T) {
	project := t.TempDir()
	t.Chdir(project)
	write(t, filepath.Join(project, "bin", "harness"), "#!/bin/sh\necho trap\n", 0o755)
	write(t, filepath.Join(project, "harness"), "#!/bin/sh\necho trap\n", 0o755)
	for _, path := range []string{".", "", ":", "./:bin"} {
		_, err := process.Start(process.Spec{Argv: []string{"harness"}, Dir: project, Env: []string{"PATH=" + path}})
		wantCode(t, err, process.CodeHarnessNotFound)
	}
	// Asked for by a path, it is meant.
	p := startSpec(t, process.Spec{Argv: []string{"./harness"}, Dir: project, Env: []string{"PATH=/usr/bin:/bin"}})
	if out, _ := io.ReadAll(p.Stdout()); string(out) != "trap\n" {
		t.Errorf("got %q", out)
	}
}

func TestL1_AMissingInterpreterIsNamedInsteadOfExit127(t *testing.T) {
	bin := t.TempDir()
	short := []string{"PATH=" + bin}
	for _, tc := range []struct{ name, first, missing string }{
		{"absolute", "#!/nowhere/node", `"/nowhere/node"`},
		{"through env", "#!/usr/bin/env no-such-node", `"no-such-node"`},
		{"through env with options", "#! /usr/bin/env -S -i A=1 no-such-node --flag", `"no-such-node"`},
		{"through env, joined", "#!/usr/bin/env -Sno-such-node", `"no-such-node"`},
		{"dos line ends", "#!/bin/sh\r", `"/bin/sh\r"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			script := write(t, filepath.Join(bin, "script"), tc.first+"\necho ran\n", 0o755)
			_, err := process.Start(process.Spec{Argv: []string{script}, Env: short})
			wantCode(t, err, process.CodeInterpreterMissing, tc.missing, script)
		})
	}
	t.Run("of an interpreter that is a script", func(t *testing.T) {
		write(t, filepath.Join(bin, "inner"), "#!/nowhere/perl\n", 0o755)
		script := write(t, filepath.Join(bin, "outer"), "#!/usr/bin/env inner\n", 0o755)
		_, err := process.Start(process.Spec{Argv: []string{script}, Env: short})
		wantCode(t, err, process.CodeInterpreterMissing, `"/nowhere/perl"`)
	})
	t.Run("present", func(t *testing.T) {
		script := write(t, filepath.Join(bin, "fine"), "#!/usr/bin/env -S my-shell\necho ran\n", 0o755)
		if err := os.Symlink("/bin/sh", filepath.Join(bin, "my-shell")); err != nil {
			t.Fatal(err)
		}
		p := startSpec(t, process.Spec{Argv: []string{script}, Env: short})
		if out, _ := io.ReadAll(p.Stdout()); string(out) != "ran\n" {
			t.Errorf("got %q, stderr %q", out, p.Stderr())
		}
	})
}

func TestL3_AMissingOrChangedDirectoryIsToldBeforeAnythingStarts(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := write(t, filepath.Join(base, "file"), "", 0o644)
	project := filepath.Join(base, "project")
	other := filepath.Join(base, "other")
	for _, d := range []string{project, other} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	dangling := filepath.Join(base, "dangling")
	if err := os.Symlink(filepath.Join(base, "void"), dangling); err != nil {
		t.Fatal(err)
	}
	begin := func(dir, real string) error {
		p, err := process.Start(process.Spec{Argv: []string{self(t), "0"}, Dir: dir, RealDir: real, Env: childEnv("exit")})
		if err == nil {
			_ = p.End(context.Background(), 0)
			_ = p.Stdout().Close()
		}
		return err
	}
	wantCode(t, begin(filepath.Join(base, "void"), ""), process.CodeDirMissing, filepath.Join(base, "void"))
	wantCode(t, begin(dangling, ""), process.CodeDirMissing, "symbolic link to", filepath.Join(base, "void"))
	wantCode(t, begin(file, ""), process.CodeDirNotADirectory, file)
	wantCode(t, begin(filepath.Join(file, "below"), ""), process.CodeDirNotADirectory)
	wantCode(t, begin("project", ""), process.CodeLaunchFailed, "not an absolute path")

	real, err := process.RealDir(project)
	if err != nil || real != project {
		t.Fatalf("RealDir: %q, %v", real, err)
	}
	if err := begin(project, real); err != nil {
		t.Fatalf("an unchanged directory is refused: %v", err)
	}
	if err := os.Remove(project); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, project); err != nil {
		t.Fatal(err)
	}
	wantCode(t, begin(project, real), process.CodeDirChanged, project, other)
	if real, err = process.RealDir(project); err != nil || real != other {
		t.Fatalf("RealDir of a link: %q, %v", real, err)
	}
	if err := begin(project, real); err != nil {
		t.Fatalf("a link that leads where it did is refused: %v", err)
	}
	_, err = process.RealDir(dangling)
	wantCode(t, err, process.CodeDirMissing)
}

func TestAProgramThatIsJustBeingWrittenIsStartedWhenItIsDone(t *testing.T) {
	exe, err := os.ReadFile(self(t))
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "harness")
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(f, bytes.NewReader(exe)); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(100*time.Millisecond, func() { _ = f.Close() })
	p := startSpec(t, process.Spec{Argv: []string{name, "4"}, Env: childEnv("exit")})
	if e := waitExit(t, p); e.Code != 4 {
		t.Errorf("got %v", e)
	}
}

func TestStartLeaksNothingWhenItFails(t *testing.T) {
	before := openFiles(t)
	for range 50 {
		if _, err := process.Start(process.Spec{Argv: []string{"/nowhere/x"}}); err == nil {
			t.Fatal("started")
		}
		script := write(t, filepath.Join(t.TempDir(), "garbage"), "\x00", 0o755)
		if _, err := process.Start(process.Spec{Argv: []string{script}}); err == nil {
			t.Fatal("started")
		}
	}
	if after := openFiles(t); after > before+5 {
		t.Errorf("%d open files became %d", before, after)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
