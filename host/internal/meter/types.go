package meter

import "bytes"

// ValType is a value type in its binary form.
type ValType byte

// The value types of WebAssembly 2.0.
const (
	I32       ValType = 0x7f
	I64       ValType = 0x7e
	F32       ValType = 0x7d
	F64       ValType = 0x7c
	V128      ValType = 0x7b
	FuncRef   ValType = 0x70
	ExternRef ValType = 0x6f
)

func (t ValType) valid() bool {
	switch t {
	case I32, I64, F32, F64, V128, FuncRef, ExternRef:
		return true
	}
	return false
}

func (t ValType) ref() bool { return t == FuncRef || t == ExternRef }

func (t ValType) String() string {
	switch t {
	case I32:
		return "i32"
	case I64:
		return "i64"
	case F32:
		return "f32"
	case F64:
		return "f64"
	case V128:
		return "v128"
	case FuncRef:
		return "funcref"
	case ExternRef:
		return "externref"
	}
	return "?"
}

// FuncType is the type of a function.
type FuncType struct {
	Params, Results []ValType
}

// Equal reports whether both have the same parameters and results.
func (t FuncType) Equal(u FuncType) bool {
	return bytes.Equal(valBytes(t.Params), valBytes(u.Params)) && bytes.Equal(valBytes(t.Results), valBytes(u.Results))
}

// String writes the type as "(i32, i32) → (i64)".
func (t FuncType) String() string {
	list := func(ts []ValType) string {
		s := "("
		for i, v := range ts {
			if i > 0 {
				s += ", "
			}
			s += v.String()
		}
		return s + ")"
	}
	return list(t.Params) + " → " + list(t.Results)
}

func valBytes(ts []ValType) []byte {
	b := make([]byte, len(ts))
	for i, t := range ts {
		b[i] = byte(t)
	}
	return b
}

// Import names a function a module may import.
type Import struct{ Module, Name string }

// Export is a function a module must export, or may when Optional is set; when
// it does, the type must fit.
type Export struct {
	Name     string
	Type     FuncType
	Optional bool
}
