package store

import (
	"errors"
	"syscall"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/util/vfsutil"
	"github.com/ncruces/go-sqlite3/vfs"
)

// vfsName is the VFS our connections use: the system's files, but with their
// errors told apart. The driver's own VFS (v0.37) reports a full disk, a quota and
// a read-only file system as the same input/output error and drops the cause.
const vfsName = "ao-host"

func init() {
	if base, ok := vfs.Find("").(vfs.VFSFilename); ok {
		vfs.Register(vfsName, namedErrors{base})
	}
}

type namedErrors struct{ vfs.VFSFilename }

func (v namedErrors) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	f, flags, err := v.VFSFilename.OpenFilename(name, flags)
	if err != nil {
		return nil, flags, namedError(err)
	}
	return &namedFile{File: f, data: flags&vfs.OPEN_MAIN_DB != 0}, flags, nil
}

func namedError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		return vfs.SystemError(err, sqlite3.FULL)
	case errors.Is(err, syscall.EROFS):
		return vfs.SystemError(err, sqlite3.READONLY)
	}
	return err
}

// namedFile passes on all that the system's files can do.
type namedFile struct {
	vfs.File
	// data: it is the data file and not its log; page is the last one that was
	// changed on its way there.
	data bool
	page []byte
}

var (
	_ vfs.FileUnwrap             = (*namedFile)(nil)
	_ vfs.FileLockState          = (*namedFile)(nil)
	_ vfs.FileHasMoved           = (*namedFile)(nil)
	_ vfs.FileSizeHint           = (*namedFile)(nil)
	_ vfs.FilePersistWAL         = (*namedFile)(nil)
	_ vfs.FilePowersafeOverwrite = (*namedFile)(nil)
	_ vfs.FileSharedMemory       = (*namedFile)(nil)
	_ vfs.FileMemoryMapper       = (*namedFile)(nil)
)

func (f *namedFile) WriteAt(p []byte, off int64) (int, error) {
	if f.data {
		p = f.scrubbed(p, off)
	}
	n, err := f.File.WriteAt(p, off)
	return n, namedError(err)
}

func (f *namedFile) Truncate(size int64) error       { return namedError(f.File.Truncate(size)) }
func (f *namedFile) Sync(flags vfs.SyncFlag) error   { return namedError(f.File.Sync(flags)) }
func (f *namedFile) SizeHint(size int64) error       { return namedError(vfsutil.WrapSizeHint(f.File, size)) }
func (f *namedFile) Unwrap() vfs.File                { return f.File }
func (f *namedFile) LockState() vfs.LockLevel        { return vfsutil.WrapLockState(f.File) }
func (f *namedFile) HasMoved() (bool, error)         { return vfsutil.WrapHasMoved(f.File) }
func (f *namedFile) PersistWAL() bool                { return vfsutil.WrapPersistWAL(f.File) }
func (f *namedFile) SetPersistWAL(keep bool)         { vfsutil.WrapSetPersistWAL(f.File, keep) }
func (f *namedFile) PowersafeOverwrite() bool        { return vfsutil.WrapPowersafeOverwrite(f.File) }
func (f *namedFile) SetPowersafeOverwrite(safe bool) { vfsutil.WrapSetPowersafeOverwrite(f.File, safe) }
func (f *namedFile) SharedMemory() vfs.SharedMemory  { return vfsutil.WrapSharedMemory(f.File) }
func (f *namedFile) MemoryMapper() vfs.MemoryMapper  { return vfsutil.WrapMemoryMapper(f.File) }
