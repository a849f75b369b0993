// Package chat runs one conversation on a terminal: it prints the journal as it
// grows, asks the person what the agent asks, reviews plans, and stops a turn.
package chat
