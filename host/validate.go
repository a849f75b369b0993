package host

import (
	"sync/atomic"

	"github.com/aoagents/ao-host/host/internal/transport"
	"github.com/aoagents/ao-host/schemas"
)

// validator checks frames against the schemas of the provider version in use.
// Inbound frames are checked on the reading side, off the session's goroutine.
type validator struct {
	v atomic.Pointer[schemas.Validator]
}

func (v *validator) use(s *schemas.Validator) { v.v.Store(s) }

// inspect checks an inbound request or notification. Results are checked when
// their call is known, see [validator.result].
func (v *validator) inspect(f *transport.Frame) error {
	s := v.v.Load()
	if s == nil {
		return nil
	}
	switch f.Kind {
	case transport.Request:
		return s.Check(schemas.FromProvider, schemas.Request, f.Method, f.Payload)
	case transport.Notification:
		return s.Check(schemas.FromProvider, schemas.Notification, f.Method, f.Payload)
	}
	return nil
}

func (v *validator) result(method string, payload []byte) error {
	if s := v.v.Load(); s != nil {
		return s.Check(schemas.FromProvider, schemas.Result, method, payload)
	}
	return nil
}

func (v *validator) outbound(kind schemas.Kind, method string, payload []byte) error {
	if s := v.v.Load(); s != nil {
		return s.Check(schemas.ToProvider, kind, method, payload)
	}
	return nil
}
