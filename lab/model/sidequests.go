package model

import "strings"

// isReview knows the request that judges an approval in the user's place.
func isReview(r *Request) bool {
	return strings.Contains(r.Instructions, "risk assessment")
}

// isTitle knows the request that names a session.
func isTitle(r *Request) bool {
	return len(r.Tools) == 0 && strings.Contains(strings.ToLower(r.Instructions+r.LastUser), "title")
}
