package transport

// Kind is what a line from the child turned out to be.
type Kind uint8

// The kinds of frames. The zero value is none of them.
const (
	// Request has an id and a method and waits for an answer.
	Request Kind = iota + 1
	// Notification has a method and is never answered. A method with "id":null is
	// one too: some encoders write the absent id that way, and nobody could match
	// an answer to it.
	Notification
	// Result answers one of our calls. Payload is the result, possibly null.
	Result
	// Error answers one of our calls. Payload is the error, by the standard an
	// object, but whatever the child put there.
	Error
	// Junk is everything else. It is recorded and never answered: answering
	// garbage, or an answer, makes two peers loop (SCENARIOS T5).
	Junk
)

var kindNames = [...]string{"invalid", "request", "notification", "result", "error", "junk"}

// String returns the lower-case name of the kind.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return kindNames[0]
}

// NoteHead is the most bytes of a line's text a [Frame.Note] quotes.
const NoteHead = 4 << 10

// Frame is one line from the child. It owns its memory.
type Frame struct {
	// N numbers the frames of a generation from 1, junk included. Blank lines have
	// no number.
	N    uint64
	Kind Kind
	// ID is the raw JSON of the id, so that 7 and "7" stay different (SCENARIOS
	// T4). It is nil for notifications. On junk it is set only when the line was an
	// answer that cannot be used ({"id":7} with neither result nor error, or with
	// both): the call it belongs to can then be failed at once.
	ID []byte
	// Method is empty for answers and junk.
	Method string
	// Payload is the params, result or error as raw JSON, always valid UTF-8;
	// nil when absent. An error that carries no usable id is kept here on junk.
	Payload []byte
	// Size is the length of the line in bytes as the child wrote it, without the
	// newline.
	Size int
	// Oversize says that the line was not carried: it exceeded Config.MaxLine or
	// nests deeper than jsonwire.MaxDepth. Kind, ID and Method are still read, so
	// that the call can be failed or the request declined; Payload is nil.
	Oversize bool
	// Note says, for junk and oversize frames, what is wrong, followed by at most
	// [NoteHead] bytes of the text. It is valid UTF-8; terminal controls in it are
	// untouched, whoever shows it escapes them.
	Note string
	// Check is what Config.Inspect returned.
	Check error
}

// frameOverhead is what a frame costs besides its bytes: the struct and the
// allocations. It is charged to the window, otherwise a child that prints
// two-byte lines could fill a window of 8 MiB with half a gigabyte of frames.
const frameOverhead = 192

// cost is the memory a frame holds, in bytes.
func (f *Frame) cost() int { return frameOverhead + len(f.ID) + len(f.Payload) + len(f.Note) }
