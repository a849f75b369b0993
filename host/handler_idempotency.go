package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/aoagents/ao-host/store"
)

// HeaderIdempotencyKey is the request header that makes repeating a mutation
// safe: 1 to 255 visible ASCII characters, new for each new request.
const HeaderIdempotencyKey = "Idempotency-Key"

// keyLifetime is how long the key of a request is remembered.
const keyLifetime = 24 * time.Hour

// keyPrefix keeps the keys of HTTP requests apart from what else may be recorded.
const keyPrefix = "http "

// idempotencyKey returns the key of a request, "" when it has none.
func idempotencyKey(r *http.Request) (string, error) {
	values := r.Header.Values(HeaderIdempotencyKey)
	if len(values) == 0 {
		return "", nil
	}
	key := values[0]
	ok := len(values) == 1 && len(key) >= 1 && len(key) <= 255
	for i := range len(key) {
		ok = ok && key[i] > ' ' && key[i] < 0x7f
	}
	if !ok {
		return "", failField(CodeInvalidArgument, HeaderIdempotencyKey, "The key must be one value of 1 to 255 visible ASCII characters.")
	}
	return key, nil
}

// recorded is what is stored of a request that succeeded. The answer is not: a
// repeated request gets the present state, which cannot contradict the journal,
// and neither a catalog (rule 9) nor a secret (rule 16) is stored this way.
type recorded struct {
	// Request is a digest of what was asked, see fingerprint.
	Request string `json:"request"`
}

// fingerprint tells whether two requests are the same. The body of an answer is
// left out, because a digest of a short secret gives the secret away.
func fingerprint(rt *Route, r *http.Request, body any) string {
	h := sha256.New()
	enc := json.NewEncoder(h)
	parts := []any{rt.ID}
	for _, name := range rt.params {
		parts = append(parts, r.PathValue(name))
	}
	if !rt.private {
		parts = append(parts, body)
	}
	if err := enc.Encode(parts); err != nil {
		panic("host: encoding " + err.Error())
	}
	return hex.EncodeToString(h.Sum(nil))
}

// record keeps the key of a request that succeeded with what the request changes.
type record func(*store.Tx) error

func (s *server) recordOf(key, conversation, request string) record {
	return func(tx *store.Tx) error {
		ctx := context.Background()
		if _, err := tx.DropIdempotent(ctx, s.h.now().Add(-keyLifetime)); err != nil {
			return err
		}
		return tx.PutIdempotent(ctx, keyPrefix+key, conversation, mustJSON(recorded{request}))
	}
}

// once runs do unless a request with this key has succeeded before; then it
// returns again's view of the present. A second request with the key waits for
// the first. When the process dies between the commit of do and that of the
// key, the repeated request runs again: what it finds changed then refuses it
// (a stale revision, an answered card), so nothing happens twice. Where that would
// be told as a failure do has the key recorded in its own transaction.
func (s *server) once(ctx context.Context, key, conversation, request string, do func(record) (any, error), again func() (any, error)) (any, error) {
	unlock, err := s.keys.lock(ctx, keyPrefix+key)
	if err != nil {
		return nil, err
	}
	defer unlock()
	row, err := s.h.store.Idempotent(ctx, keyPrefix+key)
	if err == nil && s.h.now().Sub(row.At) <= keyLifetime {
		if decodeOwn[recorded](row.Result).Request != request {
			return nil, failField(CodeClientIDReused, HeaderIdempotencyKey, "The key %q was used for another request.", key)
		}
		return again()
	}
	if err != nil && !isNotFound(err) {
		return nil, storeError(err)
	}
	put := s.recordOf(key, conversation, request)
	out, err := do(put)
	if err != nil {
		return nil, err
	}
	if err := s.h.store.Write(ctx, put); err != nil && store.CodeOf(err) != store.CodeConflict {
		// The request itself is committed and must not be reported as failed.
		s.h.cfg.Logger.Warn("an idempotency key could not be recorded", "error", err)
	}
	return out, nil
}

// keyLocks makes requests with the same key wait for each other.
type keyLocks struct {
	mu   sync.Mutex
	held map[string]chan struct{}
}

func (k *keyLocks) lock(ctx context.Context, key string) (unlock func(), err error) {
	for {
		k.mu.Lock()
		wait, busy := k.held[key]
		if !busy {
			mine := make(chan struct{})
			k.held[key] = mine
			k.mu.Unlock()
			return func() {
				k.mu.Lock()
				delete(k.held, key)
				k.mu.Unlock()
				close(mine)
			}, nil
		}
		k.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
