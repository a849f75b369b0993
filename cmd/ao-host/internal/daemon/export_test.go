package daemon

import "time"

// ShortParent sets where the folder of short paths is made, and returns it to what
// it was.
func ShortParent(dir string) (restore func()) {
	old := shortParent
	shortParent = dir
	return func() { shortParent = old }
}

// ShortFolder, PrivateFolder and MaxSocketPath are about the place of a socket
// whose path would be too long.
func ShortFolder() string { return shortFolder() }

func PrivateFolder(dir string, create bool) error { return privateFolder(dir, create) }

const MaxSocketPath = maxSocketPath

// LockName, SocketName and LogName are files of a data folder.
const (
	LockName   = lockName
	SocketName = socketName
	LogName    = logName
	TokenName  = tokenName
)

// LockPatience sets how long a daemon waits for another one.
func LockPatience(d time.Duration) (restore func()) {
	old := lockPatience
	lockPatience = d
	return func() { lockPatience = old }
}

// PlaceInterval sets how often a daemon looks whether its folder is still there.
func PlaceInterval(d time.Duration) (restore func()) {
	old := placeInterval
	placeInterval = d
	return func() { placeInterval = old }
}

// SuccessorPatience sets how long a client waits for a daemon that takes the place
// of another one, and OpenPatience how long a data folder that a process has is
// waited for.
func SuccessorPatience(d time.Duration) (restore func()) {
	old := successorPatience
	successorPatience = d
	return func() { successorPatience = old }
}

func OpenPatience(d time.Duration) (restore func()) {
	old := openPatience
	openPatience = d
	return func() { openPatience = old }
}
