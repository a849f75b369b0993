//go:build !unix

package store

func (l *folderLock) acquire() (bool, error) { return false, nil }

const lockSupported = false
