package acp

import (
	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/abi/jsonwire"
)

// contextUsage reports how full the context is, and what the session has cost. These
// are gauges and a counter, which must not be mixed (D7).
func (r *Reducer) contextUsage(u *update, out *guest.Effects) {
	x := abi.Usage{Turn: r.current()}
	if u.hasUsed && u.used >= 0 {
		x.Gauges = append(x.Gauges, abi.Metric{Name: "context_tokens", Value: u.used})
	}
	if u.size > 0 {
		x.Gauges = append(x.Gauges, abi.Metric{Name: "context_window", Value: u.size})
	}
	if name, micros, ok := readCost(u.cost); ok {
		x.Counters = append(x.Counters, r.grow(name, micros, false))
	}
	// Some agents repeat the same figures with every step.
	if told := string(x.AppendJSON(nil)); told != r.usageTold && (len(x.Gauges) > 0 || len(x.Counters) > 0) {
		r.usageTold = told
		out.Usage(&x)
	}
	if r.own != nil && r.d.OwnTurnEnds != nil && u.meta != nil && r.d.OwnTurnEnds(u.meta) {
		r.endOwn(EnumStopReasonEndTurn, out)
	}
}

// maxTotals bounds the totals: each currency has one, and an agent has one currency.
const maxTotals = 64

// grow adds to a total, or raises it to a value, and returns it: totals never shrink,
// not even when an agent starts counting anew.
func (r *Reducer) grow(name string, n int64, add bool) abi.Metric {
	for i := range r.totals {
		t := &r.totals[i]
		if t.Name != name {
			continue
		}
		if add {
			t.Value += n
		} else if n > t.Value {
			t.Value = n
		}
		return *t
	}
	x := abi.Metric{Name: name, Value: n}
	if len(r.totals) < maxTotals {
		r.totals = append(r.totals, x)
	}
	return x
}

// readCost reads {amount, currency} into millionths without a float: those differ
// between engines.
func readCost(raw []byte) (name string, micros int64, ok bool) {
	if !present(raw) {
		return "", 0, false
	}
	amount := ""
	currency := ""
	var d jsonwire.Decoder
	d.Reset(raw)
	EachKey(&d, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldAmount:
			if d.Kind() == jsonwire.Number {
				amount = string(d.Raw())
			} else {
				d.Skip()
			}
		case FieldCurrency:
			currency = d.String()
		default:
			d.Skip()
		}
	})
	if len(currency) != 3 {
		return "", 0, false
	}
	lower := make([]byte, 0, 3)
	for i := 0; i < 3; i++ {
		c := currency[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c < 'a' || c > 'z' {
			return "", 0, false
		}
		lower = append(lower, c)
	}
	micros, ok = millionths(amount)
	return "cost_micro_" + string(lower), micros, ok
}

// millionths reads a decimal number without sign or exponent, cut off after six
// places.
func millionths(s string) (n int64, ok bool) {
	places := -1
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '.' && places < 0:
			places = 0
		case c >= '0' && c <= '9':
			if places >= 6 {
				continue
			}
			if n > (1<<62)/10 {
				return 0, false
			}
			n = n*10 + int64(c-'0')
			if places >= 0 {
				places++
			}
		case (c == 'e' || c == 'E') && i+1 < len(s) && s[i+1] == '-':
			// So small an amount that it is written with an exponent.
			return 0, i > 0
		default:
			return 0, false
		}
	}
	for ; places < 6; places++ {
		if places < 0 {
			places = 0
		}
		if n > (1<<62)/10 {
			return 0, false
		}
		n *= 10
	}
	return n, s != ""
}

// turnUsage adds what a prompt used to the totals of this process.
func (r *Reducer) turnUsage(result []byte, out *guest.Effects) {
	raw := Member(result, FieldUsage)
	if !present(raw) {
		raw = Member(Member(result, FieldMeta), FieldUsage)
	}
	if !present(raw) {
		return
	}
	x := abi.Usage{Turn: r.current()}
	var d jsonwire.Decoder
	d.Reset(raw)
	EachKey(&d, func(k []byte, d *jsonwire.Decoder) {
		var name string
		switch string(k) {
		case FieldInputTokens:
			name = "input_tokens"
		case FieldOutputTokens:
			name = "output_tokens"
		case FieldCachedReadTokens:
			name = "cached_input_tokens"
		case FieldCachedWriteTokens, "cacheCreationTokens":
			name = "cache_write_input_tokens"
		case FieldThoughtTokens, "reasoningTokens":
			name = "reasoning_output_tokens"
		case FieldTotalTokens:
			name = "total_tokens"
		default:
			d.Skip()
			return
		}
		if n := d.Int(); n >= 0 {
			x.Counters = append(x.Counters, r.grow(name, n, true))
		}
	})
	if len(x.Counters) > 0 {
		out.Usage(&x)
	}
}
