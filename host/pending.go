package host

import (
	"context"
	"encoding/json"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/jsonwire"
	"github.com/aoagents/ao-host/host/internal/replay"
	"github.com/aoagents/ao-host/store"
)

// pending collects what the steps of a session change until it is committed.
// A transaction holds whole steps: the input consumed, its journal rows, outbox
// rows and timers (DESIGN §6).
type pending struct {
	ops   []func(context.Context, *store.Tx) error
	after []func()
	// rows counts journal rows and inputs, for the group commit's bound.
	rows int
	// urgent: something waits for the commit, so it must not wait for company.
	urgent bool

	inputs    []byte
	inputGen  int64
	inputSeq  uint64
	inputNow  int64
	inputRows int

	delta delta
	// ack is the newest frame consumed.
	ack uint64
}

// delta gathers consecutive deltas of one item: they become one journal row a
// transaction, because bytes journalled bound the pipeline.
type delta struct {
	turn, item string
	channel    abi.Channel
	text       []byte
	at         time.Time
	set        bool
}

func (p *pending) empty() bool {
	return len(p.ops) == 0 && p.inputRows == 0 && !p.delta.set && len(p.after) == 0
}

// full reports whether n times as much is gathered as one transaction holds.
func (p *pending) full(n int) bool {
	return p.rows >= n*maxBatchRows || len(p.inputs) >= n*maxBatchBytes
}

// do adds a change that belongs to the transaction.
func (p *pending) do(fn func(context.Context, *store.Tx) error) { p.ops = append(p.ops, fn) }

// then adds what happens once the transaction is committed.
func (p *pending) then(fn func()) { p.after = append(p.after, fn); p.urgent = true }

// input adds one consumed input of the generation, with the digest of what the
// binding returned.
func (p *pending) input(gen int64, seq uint64, now int64, event []byte, digest uint64) {
	if p.inputRows == 0 {
		p.inputGen, p.inputSeq, p.inputNow = gen, seq, now
	}
	p.inputs = replay.AppendStep(p.inputs, event, digest)
	p.inputRows++
	p.rows++
}

// endBatch closes the row of inputs, so that those before a saved state can be
// dropped without those after it.
func (c *conversation) endBatch() {
	p := &c.tx
	if p.inputRows == 0 {
		return
	}
	row := c.inputRow()
	p.do(func(ctx context.Context, tx *store.Tx) error { return tx.AppendInput(ctx, row) })
	p.inputs, p.inputRows = c.spareInputs, 0
	c.spareInputs = nil
	p.after = append(p.after, func() { c.keepInputs(row.Body) })
}

// keepInputs keeps a committed row's buffer for the next one.
func (c *conversation) keepInputs(b []byte) {
	if cap(b) <= keptBuffer {
		c.spareInputs = b[:0]
	}
}

func (c *conversation) inputRow() store.Input {
	p := &c.tx
	return store.Input{ConversationID: c.id, Generation: p.inputGen, Seq: p.inputSeq, Now: p.inputNow, Kind: replay.KindBatch, Body: p.inputs}
}

// seal turns what is gathered into the functions of one transaction.
func (c *conversation) seal() (fn func(*store.Tx) error, after []func()) {
	p := &c.tx
	c.flushDelta()
	ops := p.ops
	var batch []byte
	if p.inputRows > 0 {
		batch = p.inputs
		row := c.inputRow()
		ops = append(ops, func(ctx context.Context, tx *store.Tx) error { return tx.AppendInput(ctx, row) })
	}
	after = p.after
	if ack := p.ack; ack > 0 && c.sess != nil && c.sess.conn != nil {
		conn := c.sess.conn
		after = append(after, func() { conn.Ack(ack) })
	}
	// The buffers are used again: a busy stream fills hundreds of transactions.
	*p = pending{inputs: c.spareInputs, delta: delta{text: p.delta.text[:0]}}
	c.spareInputs = nil
	if batch != nil {
		after = append(after, func() { c.keepInputs(batch) })
	}
	return func(tx *store.Tx) error {
		for _, op := range ops {
			if err := op(c.ctx, tx); err != nil {
				return err
			}
		}
		return nil
	}, after
}

// journal appends an event to the transaction.
func (c *conversation) journal(typ EventType, turn string, body []byte) {
	c.flushDelta()
	c.appendEvent(typ, turn, c.h.now(), body)
}

func (c *conversation) appendEvent(typ EventType, turn string, at time.Time, body []byte) {
	ev := &store.Event{ConversationID: c.id, At: at, Type: string(typ), TurnID: turn, Body: body}
	c.tx.rows++
	c.tx.do(func(ctx context.Context, tx *store.Tx) error { return tx.AppendEvent(ctx, ev) })
}

func (c *conversation) journalValue(typ EventType, turn string, v any) {
	c.journal(typ, turn, mustJSON(v))
}

// addDelta joins a delta to the one before it when it continues the same item.
func (c *conversation) addDelta(d *abi.Delta) {
	p := &c.tx.delta
	if p.set && (p.turn != d.Turn || p.item != d.Item || p.channel != d.Channel || len(p.text) > 64<<10) {
		c.flushDelta()
		p = &c.tx.delta
	}
	if !p.set {
		*p = delta{turn: d.Turn, item: d.Item, channel: d.Channel, at: c.h.now(), text: p.text[:0], set: true}
	}
	p.text = append(p.text, d.Text...)
}

func (c *conversation) flushDelta() {
	p := &c.tx.delta
	if !p.set {
		return
	}
	text := p.text
	if c.sess != nil {
		text = c.sess.secrets.scrubJoined(text)
	}
	b := make([]byte, 0, len(text)+len(text)/8+len(p.item)+96)
	b = append(b, '{')
	if p.turn != "" {
		b = jsonwire.AppendField(b, "turn", p.turn)
	}
	b = jsonwire.AppendField(b, "item", p.item)
	b = jsonwire.AppendField(b, "channel", string(p.channel))
	b = jsonwire.AppendField(b, "text", text)
	b = append(b, '}')
	turn, at := p.turn, p.at
	p.set = false
	c.appendEvent(EventDelta, turn, at, b)
}

// mustJSON encodes our own types, which cannot fail.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("host: encoding " + err.Error())
	}
	return b
}
