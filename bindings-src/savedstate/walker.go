// Package savedstate is how the first-party bindings write and read the state of a
// session. Each member is named once, for both directions, so that none can be saved
// without being loaded.
package savedstate

import "github.com/aoagents/ao-host/abi/jsonwire"

// Walker visits the members of an object in one direction: either it appends each
// member, or it fills the one member that the decoder stands at.
type Walker struct {
	writing bool
	dst     []byte
	dec     *jsonwire.Decoder
	key     []byte
	hit     bool
}

// at reports whether reading stands at key.
func (w *Walker) at(key string) bool {
	if w.hit || string(w.key) != key {
		return false
	}
	w.hit = true
	return true
}

// Append appends the object whose members visit names.
func Append(dst []byte, visit func(*Walker)) []byte {
	w := Walker{dst: append(dst, '{'), writing: true}
	visit(&w)
	return append(w.dst, '}')
}

// Writing reports whether members are appended, not filled.
func (w *Walker) Writing() bool { return w.writing }

// Read reads an object, offering each of its members to visit.
func Read(d *jsonwire.Decoder, visit func(*Walker)) {
	if !d.BeginObject() {
		return
	}
	for {
		k, ok := d.NextKey()
		if !ok {
			return
		}
		w := Walker{dec: d, key: k}
		visit(&w)
		if !w.hit {
			d.Skip()
		}
	}
}

// Str visits a string.
func (w *Walker) Str(key string, p *string) { Text(w, key, p) }

// Text visits a value of a string type; "" is left out.
func Text[T ~string](w *Walker, key string, p *T) {
	if w.writing {
		if *p != "" {
			w.dst = jsonwire.AppendField(w.dst, key, *p)
		}
	} else if w.at(key) {
		*p = T(w.dec.String())
	}
}

// Int visits a number; 0 is left out.
func (w *Walker) Int(key string, p *int64) {
	if w.writing {
		if *p != 0 {
			w.dst = jsonwire.AppendInt(jsonwire.AppendKey(w.dst, key), *p)
		}
	} else if w.at(key) {
		*p = w.dec.Int()
	}
}

// Bool visits a boolean; false is left out.
func (w *Walker) Bool(key string, p *bool) {
	if w.writing {
		if *p {
			w.dst = jsonwire.AppendBool(jsonwire.AppendKey(w.dst, key), true)
		}
	} else if w.at(key) {
		*p = w.dec.Bool()
	}
}

// Strs visits a list of strings.
func (w *Walker) Strs(key string, p *[]string) {
	List(w, key, p, nil)
}

// Object visits an object whose members visit names.
func (w *Walker) Object(key string, visit func(*Walker)) {
	if w.writing {
		w.dst = append(jsonwire.AppendKey(w.dst, key), '{')
		visit(w)
		w.dst = append(w.dst, '}')
	} else if w.at(key) {
		Read(w.dec, visit)
	}
}

// Optional visits what a pointer points to; nil is left out.
func Optional[T any](w *Walker, key string, p **T, visit func(*T, *Walker)) {
	if w.writing {
		if *p != nil {
			w.Object(key, func(w *Walker) { visit(*p, w) })
		}
	} else if w.at(key) {
		*p = new(T)
		Read(w.dec, func(w *Walker) { visit(*p, w) })
	}
}

// List visits the elements of a slice; without visit they are strings.
func List[T any](w *Walker, key string, p *[]T, visit func(*Walker, *T)) {
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
			Read(w.dec, func(w *Walker) { visit(w, &x) })
		}
		*p = append(*p, x)
	}
}

// Value is a type of the ABI with its generated codec.
type Value[T any] interface {
	*T
	AppendJSON(dst []byte) []byte
	DecodeJSON(d *jsonwire.Decoder)
}

// Value visits a value of the ABI.
func (w *Walker) Value(key string, p interface {
	AppendJSON(dst []byte) []byte
	DecodeJSON(d *jsonwire.Decoder)
}) {
	if w.writing {
		w.dst = p.AppendJSON(jsonwire.AppendKey(w.dst, key))
	} else if w.at(key) {
		p.DecodeJSON(w.dec)
	}
}

// Values visits a list of values of the ABI.
func Values[T any, P Value[T]](w *Walker, key string, p *[]T) {
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
