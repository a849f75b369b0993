package store

import "golang.org/x/sys/unix"

// room returns how many bytes this user may still write beside dir, -1 where that
// is not known.
func room(dir string) int64 {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return -1
	}
	return int64(st.Bavail) * int64(st.Bsize)
}

// writable reports why nothing can be made in dir.
func writable(dir string) error { return unix.Access(dir, unix.W_OK) }
