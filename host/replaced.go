package host

import (
	"fmt"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/store"
)

// programReplaced reports whether another program has taken the place of the one that
// runs, as an update does it (L5). The old one reads files that are gone, so the next
// turn is given to the new one, unless that would lose something: what runs in the
// background, or a session that the harness cannot restore.
func (c *conversation) programReplaced() bool {
	s := c.sess
	return len(s.background) == 0 && (c.caps.Resume || !c.row.NativeUsed) && s.programIsReplaced(c.h.cfg.replaced)
}

// generationsBack is how many generations are looked through for the last one that
// told its version: those before it did not get that far.
const generationsBack = 20

// tellReplaced warns once of a harness that has another version than the conversation
// last used it with: in the transaction that records the new one.
func (c *conversation) tellReplaced(version string) error {
	if version == "" {
		return nil
	}
	for gen := c.sess.gen - 1; gen > 0 && gen >= c.sess.gen-generationsBack; gen-- {
		g, err := c.h.store.Generation(c.ctx, c.id, gen)
		if store.CodeOf(err) == store.CodeNotFound || err == nil && g.ProviderVersion == "" {
			continue
		}
		if err != nil {
			return err
		}
		if g.ProviderVersion != version {
			c.journalValue(EventWarning, "", abi.Warning{Code: string(CodeHarnessReplaced),
				Message: fmt.Sprintf("%s It was version %s and is version %s.", codeTexts[CodeHarnessReplaced], g.ProviderVersion, version)})
		}
		return nil
	}
	return nil
}
