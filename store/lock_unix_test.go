//go:build unix

package store_test

import (
	"context"
	"testing"

	"github.com/aoagents/ao-host/store"
)

func TestD3_AProcessThatIsJustBeingStartedDoesNotKeepTheFolderFromItsNextUse(t *testing.T) {
	dir := t.TempDir()
	first, err := store.Open(context.Background(), dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	forked, err := first.InheritLock()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = forked.Close() }()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, dir, store.Options{})
}
