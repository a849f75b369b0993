package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// place is where commands of the program are run: a data folder whose harness is on
// a script, and a project folder. Its daemon ends with the test.
type place struct {
	t                  *testing.T
	bin, project, data string
	env                []string
}

func newPlace(t *testing.T, script string, env ...string) *place {
	t.Helper()
	bin, err := exec.LookPath("ao-host")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	home := filepath.Join(dir, "codex-home")
	p := &place{t: t, bin: bin, project: filepath.Join(dir, "project"), data: filepath.Join(dir, "data")}
	for _, d := range []string{home, p.project} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(home, "scripted.json"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := warmUp(p.data); err != nil {
		t.Fatal(err)
	}
	settings := fmt.Sprintf(`{"launch": {"codex": {"argv": [%q, "scripted-harness"], "env": ["CODEX_HOME=%s"]}}}`, bin, home)
	if err := os.WriteFile(filepath.Join(p.data, "config.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	p.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "SHELL=/bin/sh", "TERM=xterm-256color", "LANG=C.UTF-8", "AO_HOST_DATA=" + p.data, "CODEX_HOME=" + home}
	p.env = append(p.env, env...)
	t.Cleanup(func() {
		// A daemon that a command started outlives it, on purpose.
		if out, err := p.command("serve", "--stop").CombinedOutput(); err != nil {
			t.Errorf("the daemon did not end: %v\n%s", err, out)
		}
	})
	return p
}

// command is a command of the program, to be run in the project folder.
func (p *place) command(args ...string) *exec.Cmd {
	cmd := exec.Command(p.bin, args...)
	cmd.Dir, cmd.Env = p.project, p.env
	return cmd
}

// killDaemon ends the daemon of the data folder as a crash does.
func (p *place) killDaemon() {
	p.t.Helper()
	out := p.serve("--background", "--json")
	var info struct{ PID int }
	if err := json.Unmarshal(out, &info); err != nil || info.PID <= 1 {
		p.t.Fatalf("the daemon says %s: %v", out, err)
	}
	if err := unix.Kill(info.PID, unix.SIGKILL); err != nil {
		p.t.Fatal(err)
	}
}

// serve runs the command serve.
func (p *place) serve(args ...string) []byte {
	p.t.Helper()
	out, err := p.command(append([]string{"serve"}, args...)...).Output()
	if err != nil {
		p.t.Fatal(err)
	}
	return out
}
