package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Support is what the scenarios showed of one harness. The tests of package host write
// it down; it is never written by hand.
type Support struct {
	// Title names the harness and its version.
	Title string `json:"title"`
	// Live: the same was seen of the real program, and not of a scripted one only.
	Live bool `json:"live"`
	// Plan is who enforces planning: "harness", "host" or "nobody".
	Plan string `json:"plan_enforced_by"`
	// Question is what a question is shown as: "question" or "form".
	Question string `json:"question"`
	// Review is [ReviewWaits] or [ReviewEnds], Changes [ChangesInReview] or [ChangesMessage].
	Review  string `json:"review"`
	Changes string `json:"changes"`
	// Permissions says by permission how it is had: one of the Had constants.
	Permissions map[string]string `json:"permissions"`
	Steering    string            `json:"steering"`
	Resume      bool              `json:"resume"`
	Images      bool              `json:"images"`
	// Proves: its history names our messages.
	Proves bool `json:"proves_delivery"`
	// Passed are the scenarios that were played to their end.
	Passed []string `json:"passed"`
}

// What happens to a plan.
const (
	ReviewWaits     = "the agent waits"
	ReviewEnds      = "the turn ends"
	ChangesInReview = "in the review"
	ChangesMessage  = "a message"
)

// How a permission is had.
const (
	HadNative   = "native"   // the harness has it
	HadStandIn  = "host"     // the host answers the requests
	HadReported = "reported" // "default" is in force in its place, and that is said
	HadRefused  = "refused"  // nothing is sent until another one is chosen
)

// The lines between which the table stands in a document.
const (
	TableBegin = "<!-- support:begin -->"
	TableEnd   = "<!-- support:end -->"
)

// permissions are the columns, in their order.
var permissions = []string{"default", "accept-edits", "auto", "bypass-permissions"}

// Table is the support table as Markdown.
func Table(rows []Support) string {
	var b strings.Builder
	b.WriteString("| | seen on | who enforces plan | question | plan review | changes to a plan |")
	for _, p := range permissions {
		b.WriteString(" `" + p + "` |")
	}
	b.WriteString(" steering | resume | images |\n|---|---|---|---|---|---|" + strings.Repeat("---|", len(permissions)+3) + "\n")
	for i := range rows {
		r := &rows[i]
		cells := []string{r.Title, map[bool]string{true: "the real one", false: "a scripted one"}[r.Live], r.Plan, r.Question, r.Review, r.Changes}
		for _, p := range permissions {
			cells = append(cells, r.Permissions[p])
		}
		cells = append(cells, r.Steering, yes(r.Resume), yes(r.Images))
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	return b.String()
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// ReadSupport reads what the tests wrote down.
func ReadSupport(data []byte) ([]Support, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var rows []Support
	if err := dec.Decode(&rows); err != nil {
		return nil, fmt.Errorf("support: %w", err)
	}
	return rows, nil
}

// Replace puts the table between its lines in a document.
func Replace(doc []byte, table string) ([]byte, error) {
	from, to := bytes.Index(doc, []byte(TableBegin)), bytes.Index(doc, []byte(TableEnd))
	if from < 0 || to < from {
		return nil, errors.New("the document has no lines " + TableBegin + " and " + TableEnd + " to put the table between")
	}
	return slices.Concat(doc[:from+len(TableBegin)], []byte("\n"+table), doc[to:]), nil
}
