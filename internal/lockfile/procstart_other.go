//go:build !linux && !darwin

package lockfile

// ProcessStart is not known here.
func ProcessStart(int) (int64, bool) { return 0, false }
