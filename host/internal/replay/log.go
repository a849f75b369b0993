package replay

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc64"

	"github.com/aoagents/ao-host/abi/jsonwire"
	"github.com/aoagents/ao-host/store"
)

// The kinds of an input row.
const (
	// KindBatch rows hold consecutive steps, see [AppendStep].
	KindBatch = "batch"
	// KindFault rows hold a [Verdict]. They follow what led to them.
	KindFault = "fault"
)

var table = crc64.MakeTable(crc64.ECMA)

// Digest is what the log keeps of a step's output. It finds a binding that is not
// deterministic, not one that wants to deceive.
func Digest(output []byte) uint64 { return crc64.Checksum(output, table) }

const digestBytes = 8

// AppendStep appends one consumed event, as the bytes the binding got, and the
// digest of what it returned: uvarint length, event, 8 bytes of digest, big endian.
// A step that ended in a fault has digest 0.
func AppendStep(dst, event []byte, digest uint64) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(event)))
	dst = append(dst, event...)
	return binary.BigEndian.AppendUint64(dst, digest)
}

// Step is one input of the log.
type Step struct {
	// Seq numbers the inputs of a generation, from 1.
	Seq uint64
	// Now is the time of the event in Unix milliseconds.
	Now int64
	// Event is the JSON that the binding got.
	Event []byte
	// Digest is that of the output.
	Digest uint64
}

// Verdict is how an instance ended. It was decided once and is never decided
// again.
type Verdict struct {
	// Kind is that of the engine's fault.
	Kind string `json:"kind"`
	// Message says what happened, for a person.
	Message string `json:"message"`
	// Stderr is the end of what the module printed.
	Stderr string `json:"stderr,omitempty"`
	// Save: saving the state failed, after the last step had succeeded.
	Save bool `json:"save,omitempty"`
}

// Append appends the verdict as the body of a row of [KindFault].
func (v Verdict) Append(dst []byte) []byte {
	// Strings and a boolean can be encoded.
	b, _ := json.Marshal(v)
	return append(dst, b...)
}

// Log is what is stored of a generation's inputs.
type Log struct {
	// State is the newest saved state, nil when none was saved yet.
	State *store.SavedState
	// Steps are the inputs that are kept, in order. Those before State are
	// there until their turn has ended.
	Steps []Step
	// Fault is how the instance ended, nil when it did not.
	Fault *Verdict
}

var errDamaged = errors.New("replay: the input log is damaged")

// Decode makes a log of the stored rows of one generation, in the order of their
// numbers.
func Decode(state *store.SavedState, rows []store.Input) (*Log, error) {
	l := &Log{State: state}
	for _, row := range rows {
		if l.Fault != nil {
			return nil, fmt.Errorf("%w: input %d follows a fault", errDamaged, row.Seq)
		}
		switch row.Kind {
		case KindBatch:
			if err := l.batch(row); err != nil {
				return nil, err
			}
		case KindFault:
			l.Fault = &Verdict{}
			if err := json.Unmarshal(row.Body, l.Fault); err != nil {
				return nil, fmt.Errorf("%w: fault %d: %w", errDamaged, row.Seq, err)
			}
		default:
			return nil, fmt.Errorf("%w: input %d is of the unknown kind %q", errDamaged, row.Seq, row.Kind)
		}
	}
	return l, nil
}

// batch adds the steps of one row. Rows before the newest saved state may be gone
// from the front, none from within.
func (l *Log) batch(row store.Input) error {
	if n := len(l.Steps); n > 0 && row.Seq != l.Steps[n-1].Seq+1 {
		return fmt.Errorf("%w: input %d follows %d", errDamaged, row.Seq, l.Steps[n-1].Seq)
	}
	seq := row.Seq
	for rest := row.Body; len(rest) > 0; seq++ {
		size, n := binary.Uvarint(rest)
		if n <= 0 || size > uint64(len(rest)-n) || len(rest)-n-int(size) < digestBytes {
			return fmt.Errorf("%w: input %d ends early", errDamaged, seq)
		}
		event := rest[n : n+int(size)]
		now, ok := timeOf(event)
		if !ok {
			return fmt.Errorf("%w: input %d is no event", errDamaged, seq)
		}
		rest = rest[n+int(size):]
		l.Steps = append(l.Steps, Step{Seq: seq, Now: now, Event: event, Digest: binary.BigEndian.Uint64(rest)})
		rest = rest[digestBytes:]
	}
	return nil
}

// timeOf reads the time of an event.
func timeOf(event []byte) (now int64, ok bool) {
	var d jsonwire.Decoder
	d.Reset(event)
	d.BeginObject()
	for k, more := d.NextKey(); more; k, more = d.NextKey() {
		if string(k) == "now" {
			return d.Int(), d.Err() == nil
		}
		d.Skip()
	}
	return 0, false
}
