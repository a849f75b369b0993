// Package view puts what a host reports into words: cards, questions, settings,
// states and advice, the same for every command that shows them.
package view
