package acp

import (
	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/abi/jsonwire"
	"github.com/aoagents/ao-host/bindings-src/savedstate"
)

// stream is the text that is being streamed. It is kept until it ends, because the
// protocol has no final message and the deltas are dropped at the turn's end.
type stream struct {
	item, message string
	channel       abi.Channel
	turn, child   string
	text          []byte
}

func (s *stream) walk(w *savedstate.Walker) {
	w.Str("item", &s.item)
	w.Str("message", &s.message)
	savedstate.Text(w, "channel", &s.channel)
	w.Str("turn", &s.turn)
	w.Str("child", &s.child)
	body := string(s.text)
	w.Str("text", &body)
	if !w.Writing() {
		s.text = []byte(body)
	}
}

// chunk streams a piece of a message or thought. Pieces of one message have its id;
// without ids a message goes on until something else happens.
func (r *Reducer) chunk(u *update, channel abi.Channel, out *guest.Effects) {
	if !u.hasText && u.content != nil {
		var d jsonwire.Decoder
		d.Reset(u.content)
		u.readBlock(&d)
		r.keepText(u.text)
	}
	if len(u.text) == 0 {
		return
	}
	known := r.placeOf(u.message)
	if known != nil && known.session != r.foreign(u.session) {
		// Sessions keep their own ids.
		known = nil
	}
	at := r.scopeOf(u, known, out)
	if r.d.Tool != nil && u.meta != nil && at.child == "" {
		_, at.child = r.d.Tool(u.meta)
	}
	if at.live == nil {
		// Its turn is over and its deltas with it.
		r.streams++
		out.Item(&abi.Item{Turn: at.turn, Child: at.child, ID: "late/" + string(jsonwire.AppendInt(nil, r.streams)), Type: channelItem(channel), Status: abi.ItemCompleted, Text: string(u.text)})
		return
	}
	s := &r.stream
	if s.item == "" || s.channel != channel || s.message != u.message || s.turn != at.turn || s.child != at.child || len(s.text) > maxStream {
		r.flush(out)
		r.openStream(u, channel, at)
	}
	s.text = append(s.text, u.text...)
	out.DeltaText(&abi.Delta{Turn: at.turn, Item: s.item, Channel: channel}, u.text)
}

func channelItem(c abi.Channel) abi.ItemType {
	if c == abi.ChannelReasoning {
		return abi.ItemReasoning
	}
	return abi.ItemMessage
}

// openStream begins an item under an id that was not used before: a message can go on
// after a tool call under the id it had.
func (r *Reducer) openStream(u *update, channel abi.Channel, at scope) {
	message := u.message
	r.streams++
	id := message
	if channel == abi.ChannelReasoning {
		id = "thought/" + message
	}
	if message == "" || r.placeOf(id) != nil {
		if message == "" && channel == abi.ChannelText {
			id = "message"
		}
		id += "/" + string(jsonwire.AppendInt(nil, r.streams))
	}
	r.messages = keepLast(append(r.messages, place{id: id, turn: at.turn, child: at.child, session: r.foreign(u.session)}), maxMessages)
	r.stream = stream{item: id, message: message, channel: channel, turn: at.turn, child: at.child, text: r.stream.text[:0]}
}

func (r *Reducer) placeOf(id string) *place {
	if id == "" {
		return nil
	}
	for i := len(r.messages) - 1; i >= 0; i-- {
		if r.messages[i].id == id {
			return &r.messages[i]
		}
	}
	return nil
}

// flush ends the text that is being streamed with its final item.
func (r *Reducer) flush(out *guest.Effects) {
	s := &r.stream
	if s.item == "" {
		return
	}
	said := string(s.text)
	out.Item(&abi.Item{Turn: s.turn, Child: s.child, ID: s.item, Type: channelItem(s.channel), Status: abi.ItemCompleted, Text: said})
	if r.d.FormReview != nil && s.channel == abi.ChannelText && r.cur != nil && r.cur.id == s.turn && s.child == "" {
		r.cur.said = said
	}
	r.stream = stream{text: s.text[:0]}
}
