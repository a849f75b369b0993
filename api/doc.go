// Package api holds the description of the HTTP API: the OpenAPI 3.1 document,
// generated from the route table and the types of package host, and in ts/ the
// TypeScript types generated from the document. Package client is the typed Go
// client.
//
// The document is written by "go generate ./api" and checked by a test, so it
// cannot drift from what the handler serves.
package api

import _ "embed" // for the document

//go:generate go run ./internal/gen

// OpenAPI is the OpenAPI 3.1 document of the API, as JSON.
//
//go:embed openapi.json
var OpenAPI string
