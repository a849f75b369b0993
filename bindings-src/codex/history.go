package codex

import (
	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/abi/jsonwire"
)

// Pages of the history: a session that needs more is not read to its end, which
// leaves its deliveries uncertain instead of the start endless.
const (
	historyPageSize = 200
	maxHistoryPages = 500
)

// callItems asks for the next page of the thread's items, oldest first.
func (r *Reducer) callItems(cursor string, out *guest.Effects) {
	p := append(r.buf[:0], '{')
	p = jsonwire.AppendField(p, FieldThreadID, r.session)
	if cursor != "" {
		p = jsonwire.AppendField(p, FieldCursor, cursor)
	}
	p = jsonwire.AppendInt(jsonwire.AppendKey(p, FieldLimit), historyPageSize)
	p = append(p, '}')
	r.call(out, &abi.Call{Token: tokenHistory, Method: MethodThreadItemsList, Params: p, TimeoutMS: readTimeoutMS})
}

func (r *Reducer) readItemsPage(result []byte, out *guest.Effects) {
	if r.phase != phaseHistory {
		return
	}
	next, listed := "", false
	r.dec.Reset(result)
	eachKey(&r.dec, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldData:
			listed = d.Kind() == jsonwire.Array
			for ok := d.BeginArray(); ok && d.NextElem(); {
				eachKey(d, func(k []byte, d *jsonwire.Decoder) {
					if string(k) == FieldItem {
						r.prove(d)
					} else {
						d.Skip()
					}
				})
			}
		case FieldNextCursor:
			next = d.String()
		default:
			d.Skip()
		}
	})
	r.historyPages++
	switch {
	case next == "" && listed && len(r.found) < len(r.open.Unsettled):
		// What is not listed may still be in a turn that lost its message.
		r.callTurns("", out)
	case next == "":
		r.historyDone(listed, out)
	case r.historyPages >= maxHistoryPages:
		r.historyDone(false, out)
	default:
		r.callItems(next, out)
	}
}

// callTurns asks for the next page of the thread's turns.
//
// Codex writes a message for the model before the item with our client id, so a
// process that ends between the two leaves a turn without any item whose text the
// model still has (seen on both versions). Such a turn may be any of ours: then
// absence proves nothing.
func (r *Reducer) callTurns(cursor string, out *guest.Effects) {
	p := append(r.buf[:0], '{')
	p = jsonwire.AppendField(p, FieldThreadID, r.session)
	if cursor != "" {
		p = jsonwire.AppendField(p, FieldCursor, cursor)
	}
	p = jsonwire.AppendInt(jsonwire.AppendKey(p, FieldLimit), historyPageSize)
	p = jsonwire.AppendField(p, FieldItemsView, EnumTurnItemsViewSummary)
	p = append(p, '}')
	r.call(out, &abi.Call{Token: tokenHistoryTurns, Method: MethodThreadTurnsList, Params: p, TimeoutMS: readTimeoutMS})
}

func (r *Reducer) readTurnsPage(result []byte, out *guest.Effects) {
	if r.phase != phaseHistory {
		return
	}
	next, whole := "", false
	r.dec.Reset(result)
	eachKey(&r.dec, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldData:
			whole = d.Kind() == jsonwire.Array
			for ok := d.BeginArray(); ok && d.NextElem(); {
				whole = hasItems(d) && whole
			}
		case FieldNextCursor:
			next = d.String()
		default:
			d.Skip()
		}
	})
	r.historyPages++
	switch {
	case !whole || next == "":
		r.historyDone(whole, out)
	case r.historyPages >= maxHistoryPages:
		r.historyDone(false, out)
	default:
		r.callTurns(next, out)
	}
}

// hasItems reports whether a turn has kept any of its items.
func hasItems(d *jsonwire.Decoder) (has bool) {
	eachKey(d, func(k []byte, d *jsonwire.Decoder) {
		if string(k) != FieldItems {
			d.Skip()
			return
		}
		for ok := d.BeginArray(); ok && d.NextElem(); d.Skip() {
			has = true
		}
	})
	return has
}

// historyFailed falls back to the whole thread: items are listed for paginated
// threads only, a legacy one answers -32601 (seen on both versions).
func (r *Reducer) historyFailed(out *guest.Effects) {
	if r.phase != phaseHistory {
		return
	}
	p := append(r.buf[:0], '{')
	p = jsonwire.AppendField(p, FieldThreadID, r.session)
	p = jsonwire.AppendBool(jsonwire.AppendKey(p, FieldIncludeTurns), true)
	p = append(p, '}')
	r.call(out, &abi.Call{Token: tokenHistoryRead, Method: MethodThreadRead, Params: p, TimeoutMS: readTimeoutMS})
}

func (r *Reducer) readWholeThread(result []byte, out *guest.Effects) {
	if r.phase != phaseHistory {
		return
	}
	complete := false
	r.dec.Reset(result)
	eachKey(&r.dec, func(k []byte, d *jsonwire.Decoder) {
		if string(k) != FieldThread {
			d.Skip()
			return
		}
		eachKey(d, func(k []byte, d *jsonwire.Decoder) {
			if string(k) != FieldTurns {
				d.Skip()
				return
			}
			complete = d.Kind() == jsonwire.Array
			for ok := d.BeginArray(); ok && d.NextElem(); {
				full, kept := true, false
				eachKey(d, func(k []byte, d *jsonwire.Decoder) {
					switch string(k) {
					case FieldItemsView:
						full = d.String() == EnumTurnItemsViewFull
					case FieldItems:
						for ok := d.BeginArray(); ok && d.NextElem(); {
							r.prove(d)
							kept = true
						}
					default:
						d.Skip()
					}
				})
				complete = complete && full && kept
			}
		})
	})
	r.historyDone(complete, out)
}

// prove reads one item and notes it if it carries an unsettled client id.
func (r *Reducer) prove(d *jsonwire.Decoder) {
	client := ""
	eachKey(d, func(k []byte, d *jsonwire.Decoder) {
		if string(k) == FieldClientID {
			client = d.String()
		} else {
			d.Skip()
		}
	})
	if client == "" {
		return
	}
	for _, f := range r.found {
		if f == client {
			return
		}
	}
	for _, u := range r.open.Unsettled {
		if u == client {
			r.found = append(r.found, client)
			return
		}
	}
}

// historyDone tells what was proven, then opens the session: what was uncertain
// is settled before anything new is sent.
func (r *Reducer) historyDone(complete bool, out *guest.Effects) {
	if r.phase != phaseHistory {
		return
	}
	out.History(&abi.History{Found: r.found, Complete: complete})
	r.found = nil
	r.ready(out)
}
