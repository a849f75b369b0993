package acp

import "github.com/aoagents/ao-host/abi/jsonwire"

// walker visits the members of the saved state in one direction: either it
// appends each member to dst, or it fills the one member that dec stands at. So
// a member is named in one place and cannot be saved without being loaded.
type walker struct {
	writing bool
	dst     []byte
	dec     *jsonwire.Decoder
	key     []byte
	hit     bool
}

// at reports whether reading stands at key.
func (w *walker) at(key string) bool {
	if w.hit || string(w.key) != key {
		return false
	}
	w.hit = true
	return true
}

// walkObject reads an object, offering each of its members to visit.
func walkObject(d *jsonwire.Decoder, visit func(*walker)) {
	if !d.BeginObject() {
		return
	}
	for {
		k, ok := d.NextKey()
		if !ok {
			return
		}
		w := walker{dec: d, key: k}
		visit(&w)
		if !w.hit {
			d.Skip()
		}
	}
}

func (w *walker) str(key string, p *string) { text(w, key, p) }

func text[T ~string](w *walker, key string, p *T) {
	if w.writing {
		if *p != "" {
			w.dst = jsonwire.AppendField(w.dst, key, *p)
		}
	} else if w.at(key) {
		*p = T(w.dec.String())
	}
}

func (w *walker) int(key string, p *int64) {
	if w.writing {
		if *p != 0 {
			w.dst = jsonwire.AppendInt(jsonwire.AppendKey(w.dst, key), *p)
		}
	} else if w.at(key) {
		*p = w.dec.Int()
	}
}

func (w *walker) bool(key string, p *bool) {
	if w.writing {
		if *p {
			w.dst = jsonwire.AppendBool(jsonwire.AppendKey(w.dst, key), true)
		}
	} else if w.at(key) {
		*p = w.dec.Bool()
	}
}

func (w *walker) strs(key string, p *[]string) {
	list(w, key, p, nil)
}

func (w *walker) object(key string, visit func(*walker)) {
	if w.writing {
		w.dst = append(jsonwire.AppendKey(w.dst, key), '{')
		visit(w)
		w.dst = append(w.dst, '}')
	} else if w.at(key) {
		walkObject(w.dec, visit)
	}
}

func optional[T any](w *walker, key string, p **T, visit func(*T, *walker)) {
	if w.writing {
		if *p != nil {
			w.object(key, func(w *walker) { visit(*p, w) })
		}
	} else if w.at(key) {
		*p = new(T)
		walkObject(w.dec, func(w *walker) { visit(*p, w) })
	}
}

// list visits the elements of a slice; without visit they are strings.
func list[T any](w *walker, key string, p *[]T, visit func(*walker, *T)) {
	if w.writing {
		if len(*p) == 0 {
			return
		}
		w.dst = append(jsonwire.AppendKey(w.dst, key), '[')
		for i := range *p {
			w.dst = jsonwire.AppendComma(w.dst)
			if s, ok := any(&(*p)[i]).(*string); ok && visit == nil {
				w.dst = jsonwire.AppendString(w.dst, *s)
				continue
			}
			w.dst = append(w.dst, '{')
			visit(w, &(*p)[i])
			w.dst = append(w.dst, '}')
		}
		w.dst = append(w.dst, ']')
		return
	}
	if !w.at(key) {
		return
	}
	for ok := w.dec.BeginArray(); ok && w.dec.NextElem(); {
		var x T
		if s, ok := any(&x).(*string); ok && visit == nil {
			*s = w.dec.String()
		} else {
			walkObject(w.dec, func(w *walker) { visit(w, &x) })
		}
		*p = append(*p, x)
	}
}

// wireValue is a type of the ABI with its generated codec.
type wireValue[T any] interface {
	*T
	AppendJSON(dst []byte) []byte
	DecodeJSON(d *jsonwire.Decoder)
}

func (w *walker) value(key string, p interface {
	AppendJSON(dst []byte) []byte
	DecodeJSON(d *jsonwire.Decoder)
}) {
	if w.writing {
		w.dst = p.AppendJSON(jsonwire.AppendKey(w.dst, key))
	} else if w.at(key) {
		p.DecodeJSON(w.dec)
	}
}

func values[T any, P wireValue[T]](w *walker, key string, p *[]T) {
	if w.writing {
		if len(*p) == 0 {
			return
		}
		w.dst = append(jsonwire.AppendKey(w.dst, key), '[')
		for i := range *p {
			w.dst = P(&(*p)[i]).AppendJSON(jsonwire.AppendComma(w.dst))
		}
		w.dst = append(w.dst, ']')
		return
	}
	if !w.at(key) {
		return
	}
	for ok := w.dec.BeginArray(); ok && w.dec.NextElem(); {
		var x T
		P(&x).DecodeJSON(w.dec)
		*p = append(*p, x)
	}
}
