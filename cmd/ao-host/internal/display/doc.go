// Package display makes text that a program wrote fit to be read by a person.
//
// Everything a harness prints is untrusted: it can carry terminal control
// sequences that move the cursor or set the title, and characters that are
// invisible or turn the reading direction, so that a person reads something
// else than what will run. Two readings are offered:
//
//   - [Text] and [Stream], for prose: control sequences are removed, invisible
//     characters are escaped as <U+200B>.
//   - [Exact], for what is about to be executed or opened: nothing is removed.
//     Every character that a person could not see or tell apart from another
//     is escaped, so that the whole of it is on the screen.
//
// Neither changes what is executed: they are applied on the way to the screen
// only.
package display
