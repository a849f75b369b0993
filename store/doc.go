// Package store is the durable store of ao-host: one SQLite file with the
// conversations, their queues, interactions, plans, provider processes and the
// journal.
//
// A [Store] has one writer with group commit. [Store.Write] returns after its
// commit, [Store.Submit] lets streamed rows wait a moment for company; both run
// their closures one after another, in call order, each of them all or nothing.
// Reads ([Reader]) run beside the writer and see only what is committed; the same
// methods on a [Tx] see what its closure wrote.
//
// One process at a time holds a folder. The folder has mode 0700, its files 0600,
// whatever the umask. What is removed is overwritten with zeros (secure_delete), and so
// are copies of it that SQLite leaves in the unused parts of pages.
//
// Bodies have up to 64 MiB; one without bytes comes back as nil. Times keep their
// nanoseconds, come back in UTC, and the zero time means "not yet".
//
// A transaction is small enough to be held in memory: what is removed of a long turn
// goes in parts, see [Tx.CompactDeltas] and [Tx.DropSessions], and so does what is left
// of a deleted conversation, see [Tx.DeleteConversation].
//
// The package knows nothing of the host, the bindings or the wire: bodies are
// bytes to it. Every failure it has a name for is an [*Error].
package store

//go:generate sqlc generate
