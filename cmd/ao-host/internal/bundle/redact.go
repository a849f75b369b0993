package bundle

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Person is what a report must not tell about the person and the machine.
type Person struct {
	// Home is the home directory, User the name, Host that of the machine.
	Home, User, Host string
	// Environ are variables whose values must not be told, as NAME=VALUE.
	Environ []string
	// Words are other texts, such as the folders of PATH as one text.
	Words map[string]string
}

// Here is the person of this process.
func Here() Person {
	p := Person{Environ: os.Environ(), Words: map[string]string{}}
	p.Home, _ = os.UserHomeDir() // without one there is nothing to hide
	p.Host, _ = os.Hostname()
	for _, name := range []string{"USER", "LOGNAME"} {
		if p.User == "" {
			p.User = os.Getenv(name)
		}
	}
	return p
}

// shortValue is the length under which the value of a variable is no secret and
// stands in too many words, in bytes.
const shortValue = 6

// redactor replaces what must not be told, the longest first.
type redactor struct {
	pairs []pair
	words []*regexp.Regexp
	names []string
}

type pair struct{ from, to string }

func newRedactor(p Person) *redactor {
	r := &redactor{}
	add := func(from, to string) {
		if from != "" && from != to {
			r.pairs = append(r.pairs, pair{from, to})
		}
	}
	for from, to := range p.Words {
		add(from, to)
	}
	for _, kv := range p.Environ {
		name, value, _ := strings.Cut(kv, "=")
		if len(value) < shortValue || value == p.Home {
			continue
		}
		add(value, "$"+name)
		// In JSON and in Go's quotes a value can be written otherwise.
		for _, written := range quoted(value) {
			if written != value {
				add(written, "$"+name)
			}
		}
	}
	if p.Home != "/" {
		add(strings.TrimSuffix(p.Home, "/"), "~")
	}
	slices.SortStableFunc(r.pairs, func(a, b pair) int { return cmp.Compare(len(b.from), len(a.from)) })
	word := func(s, to string) {
		// A name such as "root" is part of too many sentences, and tells nothing.
		if len(s) >= 3 && s != "root" && s != "localhost" {
			r.words = append(r.words, regexp.MustCompile(`\b`+regexp.QuoteMeta(s)+`\b`))
			r.names = append(r.names, to)
		}
	}
	word(p.User, "USER")
	word(p.Host, "HOST")
	return r
}

// quoted are the ways a text stands between quotes in JSON and Go.
func quoted(s string) []string {
	escaped, _ := json.Marshal(s) // a string cannot fail
	var plain bytes.Buffer
	enc := json.NewEncoder(&plain)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s)
	inner := func(q string) string { return q[1 : len(q)-1] }
	return []string{inner(string(escaped)), inner(strings.TrimSpace(plain.String())), inner(strconv.Quote(s))}
}

// text redacts a text.
func (r *redactor) text(s string) string {
	for _, p := range r.pairs {
		s = strings.ReplaceAll(s, p.from, p.to)
	}
	for i, w := range r.words {
		s = w.ReplaceAllLiteralString(s, r.names[i])
	}
	return s
}
