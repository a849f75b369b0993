package daemon

import (
	"context"
	"runtime/debug"
	"time"
)

// trimInterval is how often memory is given back.
const trimInterval = 20 * time.Second

// trim gives memory back that the program does not use any more, until ctx ends: a
// daemon is there all day and works for seconds of it. The runtime by itself keeps
// for minutes what it once needed, which is much while a binding is compiled; and
// the native code of a binding that was let go is freed by a collection only. With
// nothing in memory it costs less than a millisecond.
func trim(ctx context.Context) {
	for pause(ctx, trimInterval) == nil {
		debug.FreeOSMemory()
	}
}
