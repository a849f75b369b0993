package store_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"reflect"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/aoagents/ao-host/store"
)

// childEnv selects what a re-executed test binary does instead of testing.
const childEnv = "AO_STORE_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childEnv) {
	case "":
		if raceEnabled {
			if err := flag.Set("rapid.checks", "15"); err != nil {
				panic(err)
			}
		}
		goleak.VerifyTestMain(m)
	case "write":
		childWrites(os.Args[1])
	case "delete":
		childDeletes(os.Args[1])
	case "hold":
		childHolds(os.Args[1])
	case "umask":
		childOpensUnderUmask(os.Args[1], os.Args[2])
	default:
		fmt.Fprintln(os.Stderr, "unknown child")
		os.Exit(2)
	}
}

var epoch = time.Date(2026, 8, 1, 12, 0, 0, 123456789, time.UTC)

func clock() time.Time { return epoch }

func open(t testing.TB, dir string, opts store.Options) *store.Store {
	t.Helper()
	if opts.Now == nil {
		opts.Now = clock
	}
	s, err := store.Open(context.Background(), dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// write runs fn in its own goroutine-safe way: a failed expectation inside comes
// back as an error.
func write(t testing.TB, s *store.Store, fn func(*store.Tx) error) {
	t.Helper()
	if err := s.Write(context.Background(), fn); err != nil {
		t.Fatal(err)
	}
}

func wantCode(t testing.TB, err error, code string) {
	t.Helper()
	if store.CodeOf(err) != code {
		t.Fatalf("got %v, want code %s", err, code)
	}
	var e *store.Error
	if !errors.As(err, &e) || e.Message == "" {
		t.Fatalf("%v has no sentence", err)
	}
}

func newConversation(id string) store.Conversation {
	return store.Conversation{ID: id, Harness: "h", Cwd: "/project", CreatedAt: epoch, UpdatedAt: epoch}
}

// withConversations opens a store that has the named conversations.
func withConversations(t testing.TB, opts store.Options, ids ...string) *store.Store {
	t.Helper()
	s := open(t, t.TempDir(), opts)
	write(t, s, func(tx *store.Tx) error {
		for _, id := range ids {
			if err := tx.InsertConversation(context.Background(), newConversation(id)); err != nil {
				return err
			}
		}
		return nil
	})
	return s
}

// filled returns a row whose every member has a value of its own, so that a
// column that is lost or swapped shows.
func filled[T any](seed int) T {
	var row T
	v := reflect.ValueOf(&row).Elem()
	for i := range v.NumField() {
		f, n := v.Field(i), int64(seed*100+i+1)
		switch x := f.Addr().Interface().(type) {
		case *time.Time:
			*x = epoch.Add(time.Duration(n) * time.Second)
		case *[]byte:
			*x = fmt.Appendf(nil, `{"n":%d,"bytes":"%s"}`, n, "\x00\xff")
		default:
			switch f.Kind() {
			case reflect.String:
				f.SetString(fmt.Sprintf("%s-%d é", v.Type().Field(i).Name, n))
			case reflect.Int64:
				f.SetInt(n)
			case reflect.Uint64:
				f.SetUint(uint64(n))
			case reflect.Bool:
				f.SetBool(true)
			default:
				panic("filled does not know " + f.Kind().String())
			}
		}
	}
	return row
}
