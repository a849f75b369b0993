package store

import (
	"context"
	"time"
)

// PutBlob keeps bytes under their digest, for as long as one of the conversations is
// there that they were put for; bytes that are there already stay. Error: not_found
// when there is no such conversation.
func (tx *Tx) PutBlob(_ context.Context, conversation string, b Blob) error {
	if err := fits("attachment", b.Bytes); err != nil {
		return err
	}
	if err := tx.wrote(tx.q.PutAttachment(context.Background(), b.Digest, b.Media, blob(b.Bytes)), "attachment"); err != nil {
		return err
	}
	return tx.wrote(tx.q.PutAttachmentUse(context.Background(), conversation, b.Digest), "attachment")
}

// PutGrant records the user's yes to a module, in place of an earlier one to the
// same harness.
func (tx *Tx) PutGrant(_ context.Context, g Grant) error {
	return tx.wrote(tx.q.PutGrant(context.Background(), g.Harness, g.Digest, stamp(g.GrantedAt)), "grant")
}

// DropGrant takes the yes back. Error: not_found.
func (tx *Tx) DropGrant(_ context.Context, harness string) error {
	n, err := tx.q.DropGrant(context.Background(), harness)
	return tx.changed(n, err, "grant for", harness)
}

// PutIdempotent records what was answered to the request with this key. Error:
// conflict when the key was used before.
func (tx *Tx) PutIdempotent(_ context.Context, key, conversation string, result []byte) error {
	if err := fits("result", result); err != nil {
		return err
	}
	return tx.wrote(tx.q.PutIdempotency(context.Background(), key, conversation, blob(result), stamp(tx.now())), "request key")
}

// DropIdempotent forgets the requests from before a time and returns how many.
func (tx *Tx) DropIdempotent(_ context.Context, before time.Time) (int64, error) {
	n, err := tx.q.DropIdempotency(context.Background(), stamp(before))
	return n, tx.wrote(err, "request key")
}
