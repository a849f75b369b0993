// Package bundle writes an archive for a bug report: what a diagnosis found, and how
// conversations went, told by states, codes, times and sizes. What was said is in it
// only when that is asked for; values of variables, the person's name and home
// directory never are.
package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/logfile"
	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/store"
)

// Bounds of what goes into an archive.
const (
	// maxConversations is how many of the newest conversations are told.
	maxConversations = 50
	// maxEvents is how many of the newest events of each, maxLog how many bytes of
	// the end of the log.
	maxEvents = 5000
	maxLog    = 512 << 10
)

// Input is what goes into an archive.
type Input struct {
	// Report is the diagnosis as doctor writes it, Diagnosis the host's part of it.
	Report    any
	Diagnosis host.Diagnosis
	// Dir is the data folder, Log the daemon's log.
	Dir, Log string
	// WithText adds what was said: the bodies of the journal and the debug lines of
	// the log.
	WithText bool
	Person   Person
	Now      time.Time
}

// folder is the folder in the archive.
const folder = "ao-host-report/"

// Write writes the archive as a gzipped tar file. What cannot be read is told in the
// file problems.txt in it; the error is one of writing.
func Write(ctx context.Context, w io.Writer, in Input) error {
	a := &archive{now: in.Now}
	snapshot, rows, err := open(ctx, in.Dir)
	if snapshot != nil {
		defer func() { _ = snapshot.Close() }()
	}
	if err != nil {
		a.problem("conversations.json", err)
	}
	in.Person.Words = words(in, rows)
	a.redact = newRedactor(in.Person)
	z := gzip.NewWriter(w)
	a.tar = tar.NewWriter(z)
	a.file("README.txt", []byte(readme(in)))
	a.diagnosis(in)
	if snapshot != nil {
		a.conversations(ctx, snapshot, rows, in.WithText)
	}
	a.log(in)
	if len(a.problems) > 0 {
		a.file("problems.txt", []byte(strings.Join(a.problems, "\n")+"\n"))
	}
	return errors.Join(a.err, a.tar.Close(), z.Close())
}

// words are texts to replace: values of variables that the diagnosis holds, because
// another process may have others than this one, and the folders that were worked in.
func words(in Input, rows []store.Conversation) map[string]string {
	out := map[string]string{}
	for from, to := range in.Person.Words {
		out[from] = to
	}
	for _, row := range rows {
		for _, dir := range []string{row.Cwd, row.RealCwd} {
			// Two conversations in one folder have one name for it; "/" is in every path.
			if _, named := out[dir]; !named && len(dir) > 1 {
				out[dir] = fmt.Sprintf("(project of %s)", row.ID)
			}
		}
	}
	if path := strings.Join(in.Diagnosis.Environment.Path, ":"); path != "" {
		out[path] = "$PATH"
	}
	return out
}

func readme(in Input) string {
	text := "A report of ao-host, made " + in.Now.UTC().Format(time.RFC3339) + ".\n\n" +
		"doctor.json        what works here, and what does not\n" +
		"goroutines.txt,\nruntime.json       what the daemon was doing, if one ran\n" +
		"conversations.json settings, turns, questions and plans by their states, codes and times\n" +
		"journal/           the events of each conversation by type, time and size\n" +
		"log.txt            the end of the daemon's log\n" +
		"problems.txt       what could not be read, if anything\n\n"
	if in.WithText {
		return text + "WITH TEXT: it holds what was said in the conversations, in both directions, and\n" +
			"what tools printed. Look through it before you give it to anybody.\n"
	}
	return text + "It holds nothing that was said, no values of environment variables, no project\n" +
		"folders, and no name of a person. Look through it all the same before you give\n" +
		"it to anybody.\n"
}

// archive is an archive under way. The first error of writing sticks.
type archive struct {
	tar      *tar.Writer
	now      time.Time
	redact   *redactor
	problems []string
	err      error
}

// file adds a file, redacted as a whole.
func (a *archive) file(name string, b []byte) {
	if a.err != nil {
		return
	}
	b = []byte(a.redact.text(string(b)))
	a.err = a.tar.WriteHeader(&tar.Header{Name: folder + name, Mode: 0o600, Size: int64(len(b)), ModTime: a.now, Format: tar.FormatPAX})
	if a.err == nil {
		_, a.err = a.tar.Write(b)
	}
}

func (a *archive) json(name string, v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		a.problem(name, err)
		return
	}
	a.file(name, b.Bytes())
}

func (a *archive) problem(what string, err error) {
	a.problems = append(a.problems, fmt.Sprintf("%s: %v", what, err))
}

// diagnosis adds the diagnosis. The folders of PATH are the value of a variable, and
// what is long goes into files of its own.
func (a *archive) diagnosis(in Input) {
	b, err := json.Marshal(in.Report)
	var doc map[string]any
	if err == nil {
		err = json.Unmarshal(b, &doc)
	}
	if err != nil {
		a.problem("doctor.json", err)
		return
	}
	if env, ok := doc["environment"].(map[string]any); ok {
		env["path"] = []any{}
		env["path_folders"] = len(in.Diagnosis.Environment.Path)
	}
	if h, ok := doc["host"].(map[string]any); ok {
		delete(h, "stacks")
		delete(h, "metrics")
	}
	a.json("doctor.json", doc)
	if h := in.Diagnosis.Host; h != nil {
		if h.Stacks != "" {
			a.file("goroutines.txt", []byte(h.Stacks))
		}
		if len(h.Metrics) > 0 {
			a.json("runtime.json", h.Metrics)
		}
	}
}

// log adds the end of the log. Lines of level debug can hold what was said.
func (a *archive) log(in Input) {
	b, err := logfile.Tail(in.Log, maxLog)
	if err != nil {
		a.problem("log.txt", err)
		return
	}
	if len(b) == 0 {
		return
	}
	var out strings.Builder
	for line := range strings.Lines(string(b)) {
		if in.WithText || !strings.Contains(line, "level=DEBUG") {
			out.WriteString(line)
		}
	}
	a.file("log.txt", []byte(out.String()))
}

// open reads the list of conversations; without data there is no snapshot.
func open(ctx context.Context, dir string) (*store.Snapshot, []store.Conversation, error) {
	snapshot, err := store.OpenSnapshot(ctx, dir)
	if store.CodeOf(err) == store.CodeNotFound {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	rows, err := snapshot.Conversations(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, snapshot.Close())
	}
	return snapshot, rows, nil
}

// conversations adds how the conversations went.
func (a *archive) conversations(ctx context.Context, snapshot *store.Snapshot, rows []store.Conversation, withText bool) {
	total := len(rows)
	rows = rows[:min(len(rows), maxConversations)]
	views := []conversation{}
	for _, row := range rows {
		v, err := readConversation(ctx, snapshot, row)
		if err != nil {
			a.problem("conversation "+row.ID, err)
		}
		views = append(views, v)
	}
	a.json("conversations.json", struct {
		Total         int            `json:"total"`
		Conversations []conversation `json:"conversations"`
	}{total, views})
	for _, row := range rows {
		b, err := readJournal(ctx, snapshot, row, withText)
		if err != nil {
			a.problem("journal/"+row.ID, err)
		}
		a.file("journal/"+row.ID+".jsonl", b)
	}
}
