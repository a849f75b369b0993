package host

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/jsonwire"
	"github.com/aoagents/ao-host/host/internal/transport"
)

// Secrets and attachments never enter guest, store or log: placeholders stand
// for them everywhere, and the bytes are put in on the pipe write only (rule 16).
const (
	secretPrefix = "ao-secret-"
	secretHex    = 32
	// scrubbed replaces a secret in what the child prints.
	scrubbed = "[secret]"
	// A secret shorter than this is replaced only where it is a whole value:
	// anything else would garble ordinary text.
	scrubInside = 4
)

type secret struct {
	placeholder string
	value       string
}

func newSecret(value string) secret {
	var b [secretHex / 2]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	return secret{placeholder: secretPrefix + hex.EncodeToString(b[:]), value: value}
}

// secretBox holds the secrets of one generation, in memory only.
type secretBox struct {
	any    atomic.Bool
	mu     sync.RWMutex
	values map[string]string // placeholder → value
	// digests are the hex SHA-256 of the attachments sent: a harness echoes the
	// whole message, and its bytes are kept once.
	digests map[string]bool
}

func newSecretBox() *secretBox {
	return &secretBox{values: map[string]string{}, digests: map[string]bool{}}
}

// sent notes that the bytes of an attachment went out.
func (b *secretBox) sent(digest string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.digests[digest] = true
	b.any.Store(true)
}

func (b *secretBox) add(list []secret) {
	if len(list) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range list {
		b.values[s.placeholder] = s.value
	}
	b.any.Store(true)
}

func (b *secretBox) get(placeholder string) (string, bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	v, ok := b.values[placeholder]
	return v, ok
}

// scrub replaces every secret in the strings of a JSON line. A line that holds
// none is returned as it is; one that is no JSON is searched as text.
func (b *secretBox) scrub(line []byte) []byte {
	if !b.any.Load() {
		return line
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	var d jsonwire.Decoder
	d.Reset(line)
	out, changed := b.scrubValue(make([]byte, 0, len(line)), &d)
	if !d.End() {
		return b.scrubText(line)
	}
	if !changed {
		return line
	}
	return out
}

// scrubJoined searches what was put together of several frames, each of which may
// have held a part of a secret (rule 16: final items are searched again).
func (b *secretBox) scrubJoined(text []byte) []byte {
	if !b.any.Load() {
		return text
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	text, _ = b.scrubString(text)
	return text
}

// scrubItem is scrubJoined for what a person reads of an item.
func (b *secretBox) scrubItem(it *abi.Item) {
	if !b.any.Load() {
		return
	}
	it.Title, it.Text = string(b.scrubJoined([]byte(it.Title))), string(b.scrubJoined([]byte(it.Text)))
	if len(it.Data) > 0 {
		it.Data = b.scrub(it.Data)
	}
}

// scrubText replaces every place of a secret. Places that touch or overlap become
// one, so that nothing is left of a secret that begins with another or with the end
// of one.
func (b *secretBox) scrubText(text []byte) []byte {
	var places [][2]int
	for _, v := range b.values {
		if len(v) >= scrubInside {
			places = appendPlaces(places, text, v)
		}
	}
	if len(places) == 0 {
		return text
	}
	slices.SortFunc(places, func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
	out, end := make([]byte, 0, len(text)), -1
	for _, p := range places {
		if p[0] > end {
			out = append(append(out, text[max(end, 0):p[0]]...), scrubbed...)
		}
		end = max(end, p[1])
	}
	return append(out, text[end:]...)
}

// appendPlaces appends where v is in text, as the first index and the one after the
// last. Places of the same v that overlap are one.
func appendPlaces(places [][2]int, text []byte, v string) [][2]int {
	first := len(places)
	for from := 0; ; {
		i := bytes.Index(text[from:], []byte(v))
		if i < 0 {
			return places
		}
		at := from + i
		from = at + 1
		if n := len(places) - 1; n >= first && at <= places[n][1] {
			places[n][1] = at + len(v)
			continue
		}
		places = append(places, [2]int{at, at + len(v)})
	}
}

func (b *secretBox) scrubValue(dst []byte, d *jsonwire.Decoder) ([]byte, bool) {
	changed := false
	switch d.Kind() {
	case jsonwire.Object:
		dst = append(dst, '{')
		d.BeginObject()
		for k, ok := d.NextKey(); ok; k, ok = d.NextKey() {
			dst = jsonwire.AppendComma(dst)
			key, c := b.scrubString(k)
			changed = changed || c
			dst = append(jsonwire.AppendString(dst, key), ':')
			dst, c = b.scrubValue(dst, d)
			changed = changed || c
		}
		dst = append(dst, '}')
	case jsonwire.Array:
		dst = append(dst, '[')
		d.BeginArray()
		for d.NextElem() {
			dst = jsonwire.AppendComma(dst)
			var c bool
			dst, c = b.scrubValue(dst, d)
			changed = changed || c
		}
		dst = append(dst, ']')
	case jsonwire.String:
		s, c := b.scrubString(d.Bytes())
		changed = c
		dst = jsonwire.AppendString(dst, s)
	default:
		dst = append(dst, d.Raw()...)
	}
	return dst, changed
}

// base64Mark is where the bytes of a data URL begin.
var base64Mark = []byte(";base64,")

// scrubAttachment puts the placeholder back where a data URL echoes an attachment.
func (b *secretBox) scrubAttachment(s []byte) ([]byte, bool) {
	if len(b.digests) == 0 || !bytes.HasPrefix(s, []byte("data:")) {
		return s, false
	}
	i := bytes.Index(s, base64Mark)
	if i < 0 {
		return s, false
	}
	i += len(base64Mark)
	raw, err := base64.StdEncoding.AppendDecode(nil, s[i:])
	if err != nil {
		return s, false
	}
	sum := sha256.Sum256(raw)
	digest := hex.EncodeToString(sum[:])
	if !b.digests[digest] {
		return s, false
	}
	return append(append([]byte(nil), s[:i]...), blobPrefix+digest...), true
}

func (b *secretBox) scrubString(s []byte) ([]byte, bool) {
	s, changed := b.scrubAttachment(s)
	for _, v := range b.values {
		if v != "" && string(s) == v {
			return []byte(scrubbed), true
		}
	}
	out := b.scrubText(s)
	return out, changed || !bytes.Equal(out, s)
}

// expand puts the real bytes in place of the placeholders of a frame that is
// about to be written: secrets JSON-escaped, attachments as base64.
func (h *Host) expand(ctx context.Context, box *secretBox, frame []byte) ([]byte, error) {
	hasSecret := bytes.Contains(frame, []byte(secretPrefix))
	hasBlob := bytes.Contains(frame, []byte(blobPrefix))
	if !hasSecret && !hasBlob {
		return frame, nil
	}
	out := make([]byte, 0, len(frame)+256)
	rest := frame
	for len(rest) > 0 {
		i, prefix, n := nextPlaceholder(rest)
		if i < 0 {
			break
		}
		end := i + len(prefix) + n
		if end > len(rest) {
			break
		}
		out = append(out, rest[:i]...)
		name := string(rest[i:end])
		if prefix == secretPrefix {
			if v, ok := box.get(name); ok {
				quoted := jsonwire.AppendString(nil, v)
				out = append(out, quoted[1:len(quoted)-1]...)
			} else {
				// Text that only looks like a placeholder stays.
				out = append(out, name...)
			}
		} else {
			b, err := h.store.Blob(ctx, "sha256:"+name[len(blobPrefix):])
			switch {
			case isNotFound(err):
				out = append(out, name...)
			case err != nil:
				return nil, fmt.Errorf("%w: attachment: %w", transport.ErrNotWritten, err)
			default:
				out = appendBase64(out, b.Bytes)
				box.sent(name[len(blobPrefix):])
			}
		}
		rest = rest[end:]
	}
	return append(out, rest...), nil
}

// nextPlaceholder finds the first placeholder: its place, prefix and the number
// of hex digits that follow.
func nextPlaceholder(b []byte) (at int, prefix string, digits int) {
	s, f := bytes.Index(b, []byte(secretPrefix)), bytes.Index(b, []byte(blobPrefix))
	if s >= 0 && (f < 0 || s < f) {
		return s, secretPrefix, secretHex
	}
	return f, blobPrefix, 64
}

func isNotWritten(err error) bool { return err != nil && errors.Is(err, transport.ErrNotWritten) }
