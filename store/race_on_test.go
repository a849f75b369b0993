//go:build race

package store_test

// raceEnabled: SQLite is Go code here, so the race detector makes it many times
// slower; the random tests take fewer rounds then.
const raceEnabled = true
