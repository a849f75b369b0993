package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/ncruces/go-sqlite3"
)

// The stable codes of an [Error].
const (
	// CodeLocked: another process, or another Store of this one, has the folder.
	CodeLocked = "store_locked"
	// CodeReadOnly: the folder or its file cannot be written.
	CodeReadOnly = "store_read_only"
	// CodeFull: there is no room; nothing of the write was kept.
	CodeFull = "store_full"
	// CodeNewer: a newer program wrote the file; it was left untouched.
	CodeNewer = "store_newer"
	// CodeCorrupt: the file is damaged or is not a store of ours.
	CodeCorrupt = "store_corrupt"
	// CodeFailed: reading or writing failed for another reason.
	CodeFailed = "store_failed"
	// CodeBusy: a foreign program held the file's lock for longer than
	// Options.BusyTimeout.
	CodeBusy = "store_busy"
	// CodeClosed: the store was closed.
	CodeClosed = "store_closed"
	// CodeNotFound: there is no such row.
	CodeNotFound = "not_found"
	// CodeConflict: a row with this identity is there already.
	CodeConflict = "conflict"
	// CodeSessionTaken: another conversation holds the native session.
	CodeSessionTaken = "native_session_taken"
	// CodeTooLarge: a body is larger than SQLite or its memory takes.
	CodeTooLarge = "too_large"
	// CodeUnsupported: this operating system is not supported.
	CodeUnsupported = "unsupported_platform"
)

// Error is a failure of the store.
type Error struct {
	// Code is one of the Code constants and never changes its meaning.
	Code string
	// Message is a sentence that says what is wrong and what to do.
	Message string
	// Err is what SQLite or the system said, if it was their failure.
	Err error
}

func (e *Error) Error() string {
	if e.Err != nil {
		return e.Code + ": " + e.Message + " (" + e.Err.Error() + ")"
	}
	return e.Code + ": " + e.Message
}

func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is an *Error with the same code, so that
// errors.Is(err, &Error{Code: CodeNotFound}) works.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// CodeOf returns the code of err, or "" if it has none.
func CodeOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func notFound(what, id string) *Error {
	return &Error{Code: CodeNotFound, Message: fmt.Sprintf("There is no %s %q; use an id that the store has.", what, id)}
}

// translate gives an error of SQLite, database/sql or the system its code.
// what names the thing that was read or written. Errors that have a code
// already and the errors of contexts pass as they are.
func translate(err error, what string) error {
	if err == nil {
		return nil
	}
	var own *Error
	if errors.As(err, &own) {
		return err
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, sql.ErrNoRows):
		return &Error{Code: CodeNotFound, Message: "There is no such " + what + "; use an id that the store has."}
	case errors.Is(err, sql.ErrConnDone), strings.Contains(err.Error(), "sql: database is closed"):
		return errClosed()
	}
	if e := translateSystem(err); e != nil {
		return e
	}
	var code sqlite3.ErrorCode
	if !errors.As(err, &code) {
		return &Error{Code: CodeFailed, Message: "The " + what + " could not be read or written; see the cause and try again.", Err: err}
	}
	switch {
	case code == sqlite3.FULL, errors.Is(err, sqlite3.IOERR_SHMSIZE): // the log's index cannot grow
		return fullError(err)
	}
	switch code {
	case sqlite3.READONLY, sqlite3.CANTOPEN, sqlite3.PERM, sqlite3.AUTH:
		return readOnlyError(err)
	case sqlite3.CORRUPT, sqlite3.NOTADB, sqlite3.FORMAT:
		return &Error{Code: CodeCorrupt, Message: "The data file is damaged; restore one of the backups beside it.", Err: err}
	case sqlite3.BUSY, sqlite3.LOCKED, sqlite3.PROTOCOL:
		return &Error{Code: CodeBusy, Message: "Another program holds the data file; end it and try again.", Err: err}
	case sqlite3.INTERRUPT:
		return context.Canceled // only a context interrupts
	case sqlite3.TOOBIG, sqlite3.NOMEM:
		return &Error{Code: CodeTooLarge, Message: "The " + what + " is too large to be stored; shorten it.", Err: err}
	case sqlite3.CONSTRAINT:
		return translateConstraint(err, what)
	}
	return &Error{Code: CodeFailed, Message: "The " + what + " could not be read or written; see the cause and try again.", Err: err}
}

func translateConstraint(err error, what string) *Error {
	switch {
	case errors.Is(err, sqlite3.CONSTRAINT_FOREIGNKEY):
		return &Error{Code: CodeNotFound, Message: "The " + what + " belongs to a conversation that is not there; create the conversation first.", Err: err}
	case strings.Contains(err.Error(), "conversation.native_session"):
		return &Error{Code: CodeSessionTaken, Message: "Another conversation holds this native session; use that conversation or start a new session.", Err: err}
	}
	return &Error{Code: CodeConflict, Message: "The store has such a " + what + " already; read it instead of adding it again.", Err: err}
}

// translateSystem recognises the errors of the system, which SQLite often reports
// as a mere input/output error.
func translateSystem(err error) *Error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		return fullError(err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOTDIR):
		return readOnlyError(err)
	}
	return nil
}

// maxBody is the largest body of a row in bytes. A connection has 256 MiB of
// memory, in which SQLite needs a body about twice.
const maxBody = 64 << 20

// fits refuses bodies that are too large before SQLite gets them: the driver
// panics when a connection's memory is used up.
func fits(what string, bodies ...[]byte) error {
	for _, b := range bodies {
		if len(b) > maxBody {
			return &Error{Code: CodeTooLarge, Message: fmt.Sprintf(
				"The %s has %d bytes and %d are possible; shorten it.", what, len(b), maxBody)}
		}
	}
	return nil
}

func fullError(err error) *Error {
	return &Error{Code: CodeFull, Message: "There is no room left, so nothing was saved; free some space and try again.", Err: err}
}

func readOnlyError(err error) *Error {
	return &Error{Code: CodeReadOnly, Message: "The data folder cannot be written; change its permissions or choose another folder.", Err: err}
}

func unsupportedError() *Error {
	return &Error{Code: CodeUnsupported, Message: "This operating system is not supported; use Linux or macOS."}
}

// errLost is for what was in a transaction that SQLite rolled back by itself.
// https://sqlite.org/lang_transaction.html#response_to_errors_within_a_transaction
func errLost() *Error {
	return &Error{Code: CodeFailed, Message: "The transaction was lost after an earlier failure; try again."}
}

func errClosed() *Error {
	return &Error{Code: CodeClosed, Message: "The store is closed; open it again."}
}

// isFault reports whether err says that the store does not work, and not merely
// that a closure asked for something impossible.
func isFault(err error) bool {
	switch CodeOf(err) {
	case CodeFull, CodeFailed, CodeReadOnly, CodeCorrupt, CodeBusy:
		return true
	}
	return false
}
