package replay_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/host/internal/replay"
	"github.com/aoagents/ao-host/store"
)

// counter answers each event with how many it has seen; its state is that number.
type counter struct {
	n, now int64
	// It lies about the event of one number, and traps at another.
	lies, traps int64
}

func (c *counter) SetNow(ms int64) { c.now = ms }

func (c *counter) Step(_ context.Context, in []byte) ([]byte, int64, error) {
	c.n++
	if c.n == c.traps {
		return nil, 0, errors.New("trapped")
	}
	if c.n == c.lies {
		return []byte("[]"), 0, nil
	}
	return output(c.n, c.now, in), 0, nil
}

func (c *counter) Save(context.Context) ([]byte, error) { return []byte(fmt.Sprint(c.n)), nil }

func (c *counter) Load(_ context.Context, state []byte) error {
	_, err := fmt.Sscan(string(state), &c.n)
	return err
}

func output(n, now int64, in []byte) []byte { return fmt.Appendf(nil, "%d at %d: %s", n, now, in) }

// rows records n inputs, three to a row.
func rows(n int64) []store.Input {
	var out []store.Input
	for i := int64(1); i <= n; i++ {
		if (i-1)%3 == 0 {
			out = append(out, store.Input{Seq: uint64(i), Kind: replay.KindBatch})
		}
		last := &out[len(out)-1]
		event := fmt.Appendf(nil, `{"stop":{"turn":"now"},"now":%d}`, 1000+i)
		last.Body = replay.AppendStep(last.Body, event, replay.Digest(output(i, 1000+i, event)))
	}
	return out
}

func decode(t *testing.T, state *store.SavedState, in []store.Input) *replay.Log {
	t.Helper()
	l, err := replay.Decode(state, in)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func saved(seq uint64, state string) *store.SavedState {
	return &store.SavedState{InputSeq: seq, State: []byte(state)}
}

func TestAReplayEndsWhereTheRecordingEnded(t *testing.T) {
	for name, l := range map[string]*replay.Log{
		"from the first input":     decode(t, nil, rows(7)),
		"from a saved state":       decode(t, saved(6, "6"), rows(7)[2:]),
		"from a state in its turn": decode(t, saved(4, "4"), rows(7)),
		"with nothing since":       decode(t, saved(7, "7"), nil),
	} {
		res, err := l.Resume(t.Context(), &counter{})
		if err != nil || res.Seq != 7 || string(res.State) != "7" || res.Fault != nil {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
	}
	res, err := decode(t, saved(4, "4"), rows(7)).Whole(t.Context(), &counter{})
	if err != nil || res.Seq != 7 || string(res.State) != "7" {
		t.Errorf("as a whole: %+v, %v", res, err)
	}
}

func TestAReplayStopsAtTheFirstMismatch(t *testing.T) {
	for _, c := range []struct {
		name string
		log  *replay.Log
		m    *counter
		want replay.Mismatch
	}{
		{"another output", decode(t, nil, rows(7)), &counter{lies: 5}, replay.Mismatch{Seq: 5, What: "output"}},
		{"another state on the way", decode(t, saved(4, "5"), rows(7)), &counter{}, replay.Mismatch{Seq: 4, What: "state"}},
	} {
		_, err := c.log.Whole(t.Context(), c.m)
		var got *replay.Mismatch
		if !errors.As(err, &got) || *got != c.want {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.m.n > int64(c.want.Seq) {
			t.Errorf("%s: it went on to input %d", c.name, c.m.n)
		}
	}
	// What was saved must be what loading and saving gives again.
	_, err := decode(t, saved(4, "4 "), rows(7)).Resume(t.Context(), &counter{})
	var got *replay.Mismatch
	if !errors.As(err, &got) || got.What != "state" {
		t.Errorf("a state that does not come back: %v", err)
	}
	_, err = decode(t, nil, rows(7)).Resume(t.Context(), &counter{traps: 3})
	if err == nil || !strings.Contains(err.Error(), "input 3") {
		t.Errorf("a trap that was not recorded: %v", err)
	}
}

func TestARecordedFaultIsNotDecidedAgain(t *testing.T) {
	fault := func(seq uint64, v replay.Verdict) store.Input {
		return store.Input{Seq: seq, Kind: replay.KindFault, Body: v.Append(nil)}
	}
	trap := replay.Verdict{Kind: "trap", Message: "it trapped", Stderr: "why"}
	// The engine that replays would have taken the input.
	m := &counter{}
	res, err := decode(t, nil, append(rows(7), fault(8, trap))).Resume(t.Context(), m)
	if err != nil || res.Seq != 6 || m.n != 6 || res.State != nil || res.Fault == nil || *res.Fault != trap {
		t.Errorf("a step that trapped: %+v, %v, %d run", res, err, m.n)
	}
	saving := replay.Verdict{Kind: "output", Message: "too large", Save: true}
	m = &counter{}
	res, err = decode(t, nil, append(rows(7), fault(8, saving))).Resume(t.Context(), m)
	if err != nil || res.Seq != 7 || m.n != 7 || *res.Fault != saving {
		t.Errorf("a state that could not be saved: %+v, %v, %d run", res, err, m.n)
	}
}

func TestALogWithAGapIsNotReplayed(t *testing.T) {
	for name, run := range map[string]func() error{
		"the beginning is gone": func() error {
			_, err := decode(t, nil, rows(7)[1:]).Resume(t.Context(), &counter{})
			return err
		},
		"a gap after the state": func() error {
			_, err := decode(t, saved(2, "2"), rows(7)[1:]).Resume(t.Context(), &counter{})
			return err
		},
		"as a whole, from a state": func() error {
			_, err := decode(t, saved(3, "3"), rows(7)[1:]).Whole(t.Context(), &counter{})
			return err
		},
		"the end is gone": func() error {
			_, err := decode(t, saved(7, "7"), rows(6)).Whole(t.Context(), &counter{})
			return err
		},
	} {
		if err := run(); !errors.Is(err, replay.ErrIncomplete) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestADamagedLogIsRefused(t *testing.T) {
	whole := rows(3)[0].Body
	for name, in := range map[string][]store.Input{
		"cut off":           {{Seq: 1, Kind: replay.KindBatch, Body: whole[:len(whole)-1]}},
		"a length too long": {{Seq: 1, Kind: replay.KindBatch, Body: []byte{0xff, 0xff, 0x03, '{'}}},
		"an endless length": {{Seq: 1, Kind: replay.KindBatch, Body: []byte{0xff}}},
		"no event":          {{Seq: 1, Kind: replay.KindBatch, Body: replay.AppendStep(nil, []byte(`[1]`), 0)}},
		"a hole":            {rows(6)[0], {Seq: 5, Kind: replay.KindBatch, Body: whole}},
		"an unknown kind":   {{Seq: 1, Kind: "other"}},
		"no verdict":        {{Seq: 1, Kind: replay.KindFault, Body: []byte("{")}},
		"life after a fault": {{Seq: 1, Kind: replay.KindFault, Body: replay.Verdict{Kind: "trap"}.Append(nil)},
			{Seq: 2, Kind: replay.KindBatch, Body: whole}},
	} {
		if _, err := replay.Decode(nil, in); err == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(rows(3)[0].Body)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, '{'})
	f.Fuzz(func(t *testing.T, body []byte) {
		l, err := replay.Decode(nil, []store.Input{{Seq: 1, Kind: replay.KindBatch, Body: body}})
		if err != nil {
			return
		}
		var again []byte
		for _, s := range l.Steps {
			again = replay.AppendStep(again, s.Event, s.Digest)
		}
		if b, err := replay.Decode(nil, []store.Input{{Seq: 1, Kind: replay.KindBatch, Body: again}}); err != nil || len(b.Steps) != len(l.Steps) {
			t.Fatalf("what was read cannot be written: %v", err)
		}
	})
}
