package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
)

// Machine is a fresh instance of a binding, as package engine makes it.
type Machine interface {
	SetNow(ms int64)
	Step(ctx context.Context, in []byte) (out []byte, fuel int64, err error)
	Save(ctx context.Context) ([]byte, error)
	Load(ctx context.Context, state []byte) error
}

// ErrIncomplete means that inputs which the replay needs are not kept any more.
var ErrIncomplete = errors.New("replay: the log does not go back far enough")

// Mismatch is the error of a replay that gave something else than what was
// recorded. The instance must not be used.
type Mismatch struct {
	// Seq is the input at which it was noticed.
	Seq uint64
	// What differs: "output" or "state".
	What string
}

func (m *Mismatch) Error() string {
	return fmt.Sprintf("replay: the %s after input %d is not what was recorded; the binding is not deterministic or is another one", m.What, m.Seq)
}

// Result is where a replay ended.
type Result struct {
	// Seq is the number of the last input that was run, or that the loaded state
	// holds.
	Seq uint64
	// State is the session state there. It is nil after a fault: the instance that
	// had it was never called again.
	State []byte
	// Fault is the recorded verdict, if there is one. The step it is about was not
	// run again.
	Fault *Verdict
}

// Resume brings a fresh instance to where the log ends: from the saved state, or
// from the first input where none was saved.
func (l *Log) Resume(ctx context.Context, m Machine) (Result, error) {
	var from uint64
	if l.State != nil {
		if err := m.Load(ctx, l.State.State); err != nil {
			return Result{}, fmt.Errorf("replay: %w", err)
		}
		from = l.State.InputSeq
		if err := l.compareState(ctx, m, from); err != nil {
			return Result{}, err
		}
	}
	return l.run(ctx, m, from)
}

// Whole is Resume from the first input even where a state was saved since. The
// state is compared where the replay passes it.
func (l *Log) Whole(ctx context.Context, m Machine) (Result, error) { return l.run(ctx, m, 0) }

// run gives the inputs after a number to the instance.
func (l *Log) run(ctx context.Context, m Machine, after uint64) (Result, error) {
	res := Result{Seq: after, Fault: l.Fault}
	for i, s := range l.Steps {
		if s.Seq <= after {
			continue
		}
		if s.Seq != res.Seq+1 {
			return res, fmt.Errorf("%w: input %d follows %d", ErrIncomplete, s.Seq, res.Seq)
		}
		if l.Fault != nil && !l.Fault.Save && i == len(l.Steps)-1 {
			// What became of it was decided, by this engine or another.
			return res, nil
		}
		m.SetNow(s.Now)
		out, _, err := m.Step(ctx, s.Event)
		if err != nil {
			return res, fmt.Errorf("replay: input %d: %w", s.Seq, err)
		}
		if Digest(out) != s.Digest {
			return res, &Mismatch{Seq: s.Seq, What: "output"}
		}
		res.Seq = s.Seq
		if l.State != nil && l.State.InputSeq == s.Seq {
			if err := l.compareState(ctx, m, s.Seq); err != nil {
				return res, err
			}
		}
	}
	if l.State != nil && res.Seq < l.State.InputSeq {
		return res, fmt.Errorf("%w: it ends at input %d, the state was saved at %d", ErrIncomplete, res.Seq, l.State.InputSeq)
	}
	if l.Fault != nil {
		return res, nil
	}
	var err error
	if res.State, err = m.Save(ctx); err != nil {
		return res, fmt.Errorf("replay: %w", err)
	}
	return res, nil
}

// compareState compares the instance's state with the saved one.
func (l *Log) compareState(ctx context.Context, m Machine, seq uint64) error {
	state, err := m.Save(ctx)
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	if !bytes.Equal(state, l.State.State) {
		return &Mismatch{Seq: seq, What: "state"}
	}
	return nil
}
