package codex

import "github.com/aoagents/ao-host/abi/jsonwire"

// fault is why a turn failed: the provider's code ("codexErrorInfo"), its
// sentence and the HTTP status where there was one.
type fault struct {
	code, message string
	http          int64
}

// readFault reads a TurnError. Its code is a string or an object with one member
// that holds the HTTP status.
func readFault(d *jsonwire.Decoder) (f fault) {
	details := ""
	eachKey(d, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldMessage:
			f.message = d.String()
		case FieldAdditionalDetails:
			details = d.String()
		case FieldCodexErrorInfo:
			if d.Kind() == jsonwire.String {
				f.code = d.String()
				return
			}
			eachKey(d, func(k []byte, d *jsonwire.Decoder) {
				f.code = string(k)
				eachKey(d, func(k []byte, d *jsonwire.Decoder) {
					if string(k) == FieldHTTPStatusCode {
						f.http = d.Int()
					} else {
						d.Skip()
					}
				})
			})
		default:
			d.Skip()
		}
	})
	if details != "" {
		if f.message != "" {
			f.message += ": "
		}
		f.message += details
	}
	return f
}

// vague: the code says nothing about the cause.
func (f *fault) vague() bool { return f.code == "" || f.code == EnumCodexErrorInfoOther }

// outage: the next message would fail in the same way, so the queue is held (Q2).
// A cause that is not told counts as one: a dropped stream is "other" on both
// versions and HTTP 503 is on 0.153.4 (seen), and waiting loses nothing.
func (f *fault) outage() bool {
	if f.vague() {
		return true
	}
	switch f.code {
	case EnumCodexErrorInfoUsageLimitExceeded,
		EnumCodexErrorInfoRateLimitExceeded,
		EnumCodexErrorInfoServerOverloaded,
		EnumCodexErrorInfoFlexUnavailable,
		EnumCodexErrorInfoPolicyCapacityUnavailable,
		EnumCodexErrorInfoSessionBudgetExceeded,
		EnumCodexErrorInfoInternalServerError,
		EnumCodexErrorInfoUnauthorized,
		EnumCodexErrorInfoModelNotFound,
		FieldHTTPConnectionFailed,
		FieldResponseStreamConnectionFailed,
		FieldResponseStreamDisconnected,
		FieldResponseTooManyFailedAttempts:
		return true
	}
	return f.unauthorized()
}

func (f *fault) unauthorized() bool {
	return f.code == EnumCodexErrorInfoUnauthorized || f.http == 401
}
