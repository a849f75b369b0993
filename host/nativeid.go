package host

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/aoagents/ao-host/abi"
)

// maxNativeID is the longest id of a harness that is kept as it came, in bytes. An id
// is stored with every delta and every revision of what it names, and a harness may
// make one a megabyte long.
const maxNativeID = 1 << 10

// boundID returns the id that is kept for an id of a harness: a longer one becomes its
// beginning and its digest, always the same for the same id, so that what it names is
// still found by it.
func boundID(id string) string {
	if len(id) <= maxNativeID {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return strings.ToValidUTF8(id[:64], "") + "…" + hex.EncodeToString(sum[:])
}

// boundIDs bounds the ids of an effect. It is done here and not in a binding because it
// holds for every binding then, and because what is stored is the host's. The key of an
// interaction goes back to the binding with the answer, see [card.nativeKey].
func boundIDs(e *abi.Effect) {
	switch {
	case e.Delta != nil:
		e.Delta.Item = boundID(e.Delta.Item)
	case e.Item != nil:
		e.Item.ID, e.Item.Child, e.Item.Native = boundID(e.Item.ID), boundID(e.Item.Child), boundID(e.Item.Native)
	case e.Ready != nil:
		// Such a session cannot be restored: the harness does not know it by that id.
		e.Ready.NativeSession = boundID(e.Ready.NativeSession)
	case e.TurnStarted != nil:
		t := e.TurnStarted
		t.NativeTurn, t.NativeSession = boundID(t.NativeTurn), boundID(t.NativeSession)
	case e.InteractionOpened != nil:
		x := e.InteractionOpened
		x.NativeSession, x.NativeTurn, x.NativeItem = boundID(x.NativeSession), boundID(x.NativeTurn), boundID(x.NativeItem)
		x.Continues = boundID(x.Continues)
	case e.InteractionClosed != nil:
		e.InteractionClosed.Key = boundID(e.InteractionClosed.Key)
	case e.Proposal != nil:
		p := e.Proposal
		p.Key = boundID(p.Key)
		p.NativeSession, p.NativeTurn, p.NativeItem = boundID(p.NativeSession), boundID(p.NativeTurn), boundID(p.NativeItem)
	}
}
