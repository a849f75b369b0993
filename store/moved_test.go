package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/aoagents/ao-host/store"
)

func TestRule19_NothingIsAcknowledgedInAFolderThatWasMovedRemovedOrReplaced(t *testing.T) {
	for how, do := range map[string]func(dir string) error{
		"moved":           func(dir string) error { return os.Rename(dir, dir+".old") },
		"removed":         os.RemoveAll,
		"replaced":        func(dir string) error { return errors.Join(os.Rename(dir, dir+".old"), os.Mkdir(dir, 0o700)) },
		"without a lock":  func(dir string) error { return os.Remove(filepath.Join(dir, "store.lock")) },
		"a file":          func(dir string) error { return errors.Join(os.Rename(dir, dir+".old"), os.WriteFile(dir, nil, 0o600)) },
		"another's store": takenOver,
	} {
		t.Run(how, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			s := open(t, dir, store.Options{})
			write := func() error {
				return s.Write(t.Context(), func(tx *store.Tx) error {
					return tx.PutGrant(t.Context(), store.Grant{Harness: "h", Digest: "d", GrantedAt: clock()})
				})
			}
			if err := write(); err != nil {
				t.Fatal(err)
			}
			if err := do(dir); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				wantCode(t, write(), store.CodeFailed)
			}
		})
	}
}

// takenOver is a folder in which another process has made a new lock.
func takenOver(dir string) error {
	lock := filepath.Join(dir, "store.lock")
	return errors.Join(os.Rename(lock, lock+".old"), os.WriteFile(lock, nil, 0o600))
}
