// Package markdown lays out Markdown for a terminal.
//
// The text comes from an agent and is untrusted. Parsing Markdown can bring back
// what was stripped before it, because a character reference such as &#27; becomes
// the character it names; so every piece of text is made readable by package
// display after the parsing, where nothing changes it any more. The only control
// sequences in the result are the styles that this package writes.
package markdown
