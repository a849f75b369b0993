//go:build !linux && !darwin

package store

func processStart(int) (int64, bool) { return 0, false }
