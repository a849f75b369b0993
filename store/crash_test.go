package store_test

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/aoagents/ao-host/store"
)

// child starts this test binary in another role; it is killed and reaped at the
// end of the test at the latest.
func child(t *testing.T, role string, args ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Env = append(os.Environ(), childEnv+"="+role)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return cmd, bufio.NewScanner(out)
}

func childFails(err error) {
	fmt.Fprintln(os.Stderr, "child:", err)
	os.Exit(1)
}

const crashGroup = 3 // events per closure

// childWrites streams closures without end and says after each commit how many
// events are known to be on the disk.
func childWrites(dir string) {
	s, err := store.Open(ctx, dir, store.Options{})
	if err != nil {
		childFails(err)
	}
	err = s.Write(ctx, func(tx *store.Tx) error {
		err := tx.InsertConversation(ctx, newConversation("c"))
		if store.CodeOf(err) == store.CodeConflict {
			return nil
		}
		return err
	})
	if err != nil {
		childFails(err)
	}
	for {
		var last uint64
		for range 40 {
			s.Submit(func(tx *store.Tx) error {
				for range crashGroup {
					ev := store.Event{ConversationID: "c", Body: []byte(strings.Repeat("x", 300))}
					if err := tx.AppendEvent(ctx, &ev); err != nil {
						return err
					}
					last = ev.Seq
				}
				return nil
			})
		}
		if err := s.Write(ctx, func(*store.Tx) error { return nil }); err != nil {
			childFails(err)
		}
		fmt.Println(last)
	}
}

func TestRule19_WhatWasAcknowledgedSurvivesAKill(t *testing.T) {
	dir := t.TempDir()
	var acknowledged uint64
	for round := range 5 {
		cmd, lines := child(t, "write", dir)
		lifetime := time.Duration(50+rand.IntN(150)) * time.Millisecond
		var kill *time.Timer
		for lines.Scan() {
			if kill == nil { // from the first acknowledgement on
				kill = time.AfterFunc(lifetime, func() { _ = cmd.Process.Kill() })
			}
			if _, err := fmt.Sscan(lines.Text(), &acknowledged); err != nil {
				t.Fatal(err)
			}
		}
		if kill == nil {
			t.Fatal("the child acknowledged nothing")
		}
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != -1 {
			t.Fatalf("the child was not killed: %v", err)
		}
		s := open(t, dir, store.Options{})
		c, err := s.Conversation(ctx, "c")
		if err != nil {
			t.Fatal(err)
		}
		rows := seqs(t, s, "c")
		if n := uint64(len(rows)); n < acknowledged || n != c.LastSeq || n%crashGroup != 0 || rows[n-1] != n {
			t.Fatalf("round %d: %d events up to %d, the conversation is at %d, %d were acknowledged",
				round, n, rows[n-1], c.LastSeq, acknowledged)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
