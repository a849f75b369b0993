package process

import (
	"context"
	"io"
	"time"
)

// Output runs a command to its end, with an empty standard input, and returns what
// it printed: at most limit bytes of it. A command that has not ended when ctx does
// is ended, with all that it started, and the error is ctx's.
func Output(ctx context.Context, spec Spec, limit int64, grace time.Duration) (out []byte, exit Exit, err error) {
	p, err := Start(spec)
	if err != nil {
		return nil, Exit{}, err
	}
	_ = p.Stdin().Close()
	read := make(chan []byte, 1)
	go func() {
		b, _ := io.ReadAll(io.LimitReader(p.Stdout(), limit))
		read <- b
		// What follows is not wanted; the command must not hang on a full pipe.
		_, _ = io.Copy(io.Discard, p.Stdout())
	}()
	select {
	case <-p.Done():
	case <-ctx.Done():
		err = ctx.Err()
	}
	if endErr := p.End(context.WithoutCancel(ctx), grace); err == nil {
		err = endErr
	}
	select {
	case out = <-read:
		_ = p.Stdout().Close()
	case <-time.After(lastOutput):
		// Something that left the group keeps the pipe open.
		_ = p.Stdout().Close()
		out = <-read
	}
	return out, p.Exit(), err
}

// lastOutput is how long output is still read once all of the command has ended.
const lastOutput = time.Second
