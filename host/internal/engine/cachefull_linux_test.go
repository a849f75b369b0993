package engine_test

import (
	"syscall"
	"testing"
)

func TestD5_AModuleIsCompiledWithoutACacheWhenTheDiskIsFull(t *testing.T) {
	cfg := ownCache(t)
	e := newEngine(t, cfg)
	// One page: there is room for folders, and none for code.
	if err := syscall.Mount("tmpfs", cfg.CacheDir, "tmpfs", 0, "size=4096,mode=0700"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(cfg.CacheDir, 0); err != nil {
			t.Error(err)
		}
	})
	write(t, cfg.CacheDir+"/fill", make([]byte, 4096))
	checkUncached(t, e)
}
