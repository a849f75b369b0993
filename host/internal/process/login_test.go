//go:build linux || darwin

package process_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aoagents/ao-host/host/internal/process"
)

// shell writes a login shell that acts as the script says; "$4" is the command.
func shell(t *testing.T, script string) string {
	t.Helper()
	return write(t, filepath.Join(t.TempDir(), "shell"), "#!/bin/sh\n"+script+"\n", 0o755)
}

func wantFallback(t *testing.T, env []string, err error, say ...string) {
	t.Helper()
	wantCode(t, err, process.CodeLoginEnv, say...)
	if !slices.Equal(env, os.Environ()) {
		t.Error("the environment returned is not that of this process")
	}
}

func TestL1_TheLoginShellsEnvironmentIsFoundBetweenWhateverItPrints(t *testing.T) {
	env, err := process.LoginEnv(context.Background(), shell(t, `
echo "welcome --to-- PATH=/fake"; printf 'A=1\000B=2\000'
export PATH="/opt/login/bin:$PATH" MULTI="line one
PATH=/not/this" EMPTY= ODD='a=b=c'
eval "$4"
echo "bye"`), patience)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"PATH=/opt/login/bin:" + os.Getenv("PATH"), "MULTI=line one\nPATH=/not/this", "EMPTY=", "ODD=a=b=c"} {
		if !slices.Contains(env, want) {
			t.Errorf("%q is missing in %q", want, env)
		}
	}
	for _, kv := range env {
		if name, _, _ := strings.Cut(kv, "="); name == "_" || name == "SHLVL" || name == "PWD" || name == "A" {
			t.Errorf("%q does not belong there", kv)
		}
	}
}

func TestL1_RealShellsAnswer(t *testing.T) {
	home := t.TempDir()
	for _, rc := range []string{".profile", ".bash_profile", ".zshrc"} {
		write(t, filepath.Join(home, rc), "export FROM_PROFILE=yes\n", 0o644)
	}
	t.Setenv("HOME", home)
	found := 0
	for _, name := range []string{"/bin/sh", "/bin/bash", "/bin/dash", "/bin/zsh", "/usr/bin/fish"} {
		if _, err := os.Stat(name); err != nil {
			continue
		}
		found++
		env, err := process.LoginEnv(context.Background(), name, patience)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !slices.Contains(env, "FROM_PROFILE=yes") && !strings.HasSuffix(name, "fish") {
			t.Errorf("%s did not read its start files: %q", name, env)
		}
		for _, kv := range env {
			if name, _, _ := strings.Cut(kv, "="); name == "_" || name == "SHLVL" || name == "PWD" || name == "OLDPWD" {
				t.Errorf("%q belongs to that shell alone", kv)
			}
		}
	}
	if found == 0 {
		t.Fatal("this machine has no shell")
	}
}

func TestL1_AShellThatReadsStdinDoesNotHang(t *testing.T) {
	began := time.Now()
	env, err := process.LoginEnv(context.Background(), shell(t, `read answer; export ANSWER="got:$answer"; eval "$4"`), patience)
	if err != nil || !slices.Contains(env, "ANSWER=got:") || time.Since(began) > patience/2 {
		t.Errorf("%v after %v: %q", err, time.Since(began), env)
	}
}

func TestL1_AShellThatHangsIsEndedAtTheTimeoutWithAllItStarted(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	hanging := shell(t, `trap '' TERM; sleep 150 & echo $! > `+pidFile+`; wait`)
	var started []byte
	for limit := time.Second; len(started) == 0; limit *= 2 {
		began := time.Now()
		env, err := process.LoginEnv(context.Background(), hanging, limit)
		wantFallback(t, env, err, "did not answer within "+limit.String())
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took > limit+patience/2 {
			t.Errorf("%v after %v", err, took)
		}
		// On a busy machine it may not have got that far.
		started, _ = os.ReadFile(pidFile)
		if limit > patience {
			t.Fatal("the shell does not begin")
		}
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(started)))
	if err != nil {
		t.Fatal(err)
	}
	wantGone(t, map[string]int{"sleep": pid})
}

func TestL1_SomethingInTheBackgroundThatHoldsTheOutputDoesNotDelayTheAnswer(t *testing.T) {
	began := time.Now()
	_, err := process.LoginEnv(context.Background(), shell(t, `sleep 150 & eval "$4"`), patience)
	if err != nil || time.Since(began) > patience/2 {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

func TestL1_AShellThatCannotTellGivesAReason(t *testing.T) {
	for name, tc := range map[string]struct {
		shell string
		say   string
	}{
		"missing":           {"/nowhere/zsh", "/nowhere/zsh"},
		"ends at once":      {shell(t, `echo sorry >&2; exit 1`), "sorry"},
		"endless output":    {shell(t, `while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done`), "printed more than"},
		"prints no path":    {shell(t, `unset PATH; eval "$4"`), "no usable environment"},
		"not a program":     {write(t, filepath.Join(t.TempDir(), "sh"), "x", 0o644), "chmod"},
		"prints no NUL":     {shell(t, `a=${4#echo }; echo "${a%%;*}"; echo PATH=/x; echo "${4##*echo }"`), ""},
		"only one marker":   {shell(t, `a=${4#echo }; echo "${a%%;*}"; /usr/bin/env -0`), "without running the command"},
		"kills itself":      {shell(t, `kill -9 $$`), "without running the command"},
		"closes its output": {shell(t, `exec >&-; sleep 150`), "without running the command"},
	} {
		t.Run(name, func(t *testing.T) {
			env, err := process.LoginEnv(context.Background(), tc.shell, patience)
			wantFallback(t, env, err, tc.say)
		})
	}
}

func TestRule22_ResolvingTheLoginEnvironmentCanBeAborted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	began := time.Now()
	env, err := process.LoginEnv(ctx, shell(t, `sleep 150`), time.Minute)
	wantFallback(t, env, err)
	if !errors.Is(err, context.Canceled) || time.Since(began) > patience/2 {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

func TestTheLoginShellIsAskedOnceForAllCallers(t *testing.T) {
	count := filepath.Join(t.TempDir(), "count")
	l := process.NewLogin(shell(t, `echo x >> `+count+`; eval "$4"`), patience)

	aborted, cancel := context.WithCancel(context.Background())
	cancel()
	env, err := l.Env(aborted)
	wantFallback(t, env, err)

	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			if _, err := l.Env(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	b, _ := os.ReadFile(count)
	if strings.Count(string(b), "x") != 1 {
		t.Errorf("the shell ran %q", b)
	}
}

func TestAFailureOfTheLoginShellIsRememberedWithItsReason(t *testing.T) {
	count := filepath.Join(t.TempDir(), "count")
	l := process.NewLogin(shell(t, `echo x >> `+count+`; exit 1`), patience)
	for range 3 {
		env, err := l.Env(context.Background())
		wantFallback(t, env, err)
	}
	if b, _ := os.ReadFile(count); string(b) != "x\n" {
		t.Errorf("the shell ran %q", b)
	}
}
