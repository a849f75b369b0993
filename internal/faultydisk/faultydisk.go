// Package faultydisk lets tests run SQLite on a disk that fails.
package faultydisk

import (
	"sync/atomic"
	"syscall"

	"github.com/ncruces/go-sqlite3/vfs"
)

// Disk is the files of another VFS with a limit: writes that would go over it, or all
// of them, fail as the system would have them fail.
type Disk struct {
	vfs.VFSFilename
	// room is how many bytes can still be written, negative for no limit.
	room atomic.Int64
	// fault is what a refused write fails with.
	fault atomic.Pointer[error]
	// sync: syncs fail too.
	sync atomic.Bool
}

// New is a disk that works.
func New(base vfs.VFSFilename) *Disk {
	d := &Disk{VFSFilename: base}
	d.Heal()
	return d
}

// Heal ends all faults.
func (d *Disk) Heal() { d.room.Store(-1); d.sync.Store(false) }

// Fail lets room more bytes through; the writes that follow fail with err.
func (d *Disk) Fail(room int64, err error) { d.fault.Store(&err); d.room.Store(room) }

// FailSync has all syncs fail.
func (d *Disk) FailSync() { d.sync.Store(true) }

// OpenFilename opens a file whose writes are counted.
func (d *Disk) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	f, flags, err := d.VFSFilename.OpenFilename(name, flags)
	if err != nil {
		return nil, flags, err
	}
	return &file{File: f, disk: d}, flags, nil
}

type file struct {
	vfs.File
	disk *Disk
}

func (f *file) SharedMemory() vfs.SharedMemory {
	if s, ok := f.File.(vfs.FileSharedMemory); ok {
		return s.SharedMemory()
	}
	return nil
}

func (f *file) WriteAt(p []byte, off int64) (int, error) {
	for {
		room := f.disk.room.Load()
		if room < 0 {
			return f.File.WriteAt(p, off)
		}
		if room < int64(len(p)) {
			return 0, *f.disk.fault.Load()
		}
		if f.disk.room.CompareAndSwap(room, room-int64(len(p))) {
			return f.File.WriteAt(p, off)
		}
	}
}

func (f *file) Sync(flags vfs.SyncFlag) error {
	if f.disk.sync.Load() {
		return syscall.EIO
	}
	return f.File.Sync(flags)
}
