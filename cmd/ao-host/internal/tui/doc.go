// Package tui is the chat: one conversation on a whole terminal.
//
// A [story] is what the journal tells, reduced event by event and nothing else;
// blocks lay its parts out; panels ask what the agent asks and change what is
// remembered; the app joins them with the keys. Everything that the agent wrote goes
// through package display or package markdown before it is shown.
package tui
