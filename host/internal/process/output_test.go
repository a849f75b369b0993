//go:build linux || darwin

package process_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aoagents/ao-host/host/internal/process"
)

func TestOutputReturnsWhatACommandPrintsUpToALimit(t *testing.T) {
	script := write(t, filepath.Join(t.TempDir(), "tool"), "#!/bin/sh\nread line || line=none\necho \"got $line\"\nhead -c 200000 /dev/zero | tr '\\0' x\nexit 3\n", 0o755)
	spec := process.Spec{Argv: []string{script}, Env: []string{"PATH=/usr/bin:/bin"}}
	out, exit, err := process.Output(t.Context(), spec, 12, time.Second)
	if err != nil || string(out) != "got none\nxxx" || exit.Code != 3 {
		t.Errorf("%q, %v, %v", out, exit, err)
	}
}

func TestOutputEndsACommandThatDoesNotEndWithAllItStarted(t *testing.T) {
	dir := t.TempDir()
	mark := filepath.Join(dir, "child")
	script := write(t, filepath.Join(dir, "tool"), "#!/bin/sh\necho 1.2.3\nsleep 300 &\necho $! > \""+mark+"\"\nwait\n", 0o755)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for giveUp := time.Now().Add(time.Minute); time.Now().Before(giveUp); time.Sleep(5 * time.Millisecond) {
			if b, _ := os.ReadFile(mark); len(b) > 0 {
				return
			}
		}
	}()
	out, _, err := process.Output(ctx, process.Spec{Argv: []string{script}, Env: []string{"PATH=/usr/bin:/bin"}}, 1<<10, 100*time.Millisecond)
	if !errors.Is(err, context.Canceled) || !strings.HasPrefix(string(out), "1.2.3") {
		t.Errorf("%q, %v", out, err)
	}
}

func TestL1_FindNamesTheProgramAndTheMissingInterpreter(t *testing.T) {
	dir := t.TempDir()
	script := write(t, filepath.Join(dir, "tool"), "#!/usr/bin/env no-such-interpreter\n", 0o755)
	got, err := process.Find(process.Spec{Argv: []string{"tool"}, Env: []string{"PATH=" + dir}})
	var e *process.Error
	if got != script || !errors.As(err, &e) || e.Code != process.CodeInterpreterMissing || !strings.Contains(e.Message, "no-such-interpreter") {
		t.Errorf("%q, %v", got, err)
	}
	write(t, script, "#!/bin/sh\n", 0o755)
	if got, err := process.Find(process.Spec{Argv: []string{"tool"}, Env: []string{"PATH=" + dir}}); got != script || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	got, err = process.Find(process.Spec{Argv: []string{"tool"}, Env: []string{"PATH=/nowhere"}})
	if got != "" || !errors.As(err, &e) || e.Code != process.CodeHarnessNotFound {
		t.Errorf("%q, %v", got, err)
	}
}
