package store_test

import (
	"database/sql"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3/driver"

	"github.com/aoagents/ao-host/store"
)

// generatedQueries are the SQL texts in the generated code.
func generatedQueries(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("internal/db/*.sql.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	out := map[string]string{}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, s := range g.Specs {
				v := s.(*ast.ValueSpec)
				q, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				out[v.Names[0].Name] = q
			}
		}
	}
	return out
}

func TestTheGeneratedQueriesAreThoseOfTheQueryFiles(t *testing.T) {
	sqlc, err := exec.LookPath("sqlc")
	if path := os.Getenv("SQLC"); path != "" {
		sqlc, err = path, nil
	}
	if err == nil {
		out, err := exec.Command(sqlc, "diff").CombinedOutput()
		if err != nil {
			t.Fatalf("run go generate in this folder: %v\n%s", err, out)
		}
		return
	}
	t.Log("sqlc is not in PATH and SQLC is not set: only the names of the queries are compared")
	want := map[string]bool{}
	files, err := filepath.Glob("queries/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`(?m)^(-- name: \w+ :\w+)$`)
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range name.FindAllString(string(b), -1) {
			want[m] = true
		}
	}
	for _, q := range generatedQueries(t) {
		line, _, _ := strings.Cut(q, "\n")
		if !want[line] {
			t.Errorf("generated but not in a query file: %s", line)
		}
		delete(want, line)
	}
	for line := range want {
		t.Errorf("not generated: %s; run go generate in this folder", line)
	}
}

// TestEveryQueryFindsItsRowsByAnIndex asks SQLite for its plans: a query that
// reads a whole table would get slower with every conversation.
func TestEveryQueryFindsItsRowsByAnIndex(t *testing.T) {
	s := open(t, t.TempDir(), store.Options{})
	db, err := driver.Open(filepath.Join(s.Dir(), "ao-host.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	whole := map[string]bool{
		"grants":         true, // as many as there are harnesses
		"nextCompaction": true, // the first row alone
	}
	for name, q := range generatedQueries(t) {
		for _, plan := range plans(t, db, strings.ReplaceAll(q, "/*SLICE:types*/?", "?")) {
			scans := strings.HasPrefix(plan, "SCAN") && !strings.Contains(plan, "USING") && !strings.Contains(plan, "CONSTANT ROW")
			sorts := strings.Contains(plan, "USE TEMP B-TREE") && name != "timers" // a handful
			if (scans || sorts) && !whole[name] {
				t.Errorf("%s: %s", name, plan)
			}
		}
	}
}

func plans(t *testing.T, db *sql.DB, query string) (out []string) {
	t.Helper()
	rows, err := db.QueryContext(ctx, "EXPLAIN QUERY PLAN "+query, make([]any, params(query))...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id, parent, unused int
		var plan string
		if err := rows.Scan(&id, &parent, &unused, &plan); err != nil {
			t.Fatal(err)
		}
		out = append(out, plan)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func params(q string) int {
	highest := 0
	for _, m := range regexp.MustCompile(`\?(\d+)`).FindAllStringSubmatch(q, -1) {
		n, _ := strconv.Atoi(m[1])
		highest = max(highest, n)
	}
	return highest + strings.Count(q, "?") - len(regexp.MustCompile(`\?\d+`).FindAllString(q, -1))
}

func TestWhatWasRemovedIsNotLeftInTheFile(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, store.Options{})
	addConversation(t, s, "c")
	trace := "only-in-a-delta-that-is-compacted"
	write(t, s, func(tx *store.Tx) error {
		if err := tx.InsertTurn(ctx, store.Turn{ID: "t", ConversationID: "c"}); err != nil {
			return err
		}
		for range 300 {
			if err := tx.AppendEvent(ctx, &store.Event{ConversationID: "c", TurnID: "t", Type: "delta", Body: []byte(trace)}); err != nil {
				return err
			}
		}
		return nil
	})
	inFile := func() bool {
		b, err := os.ReadFile(filepath.Join(dir, "ao-host.db"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(b), trace)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if !inFile() {
		t.Fatal("the delta never reached the file, so this proves nothing")
	}
	s = open(t, dir, store.Options{})
	write(t, s, func(tx *store.Tx) error {
		n, err := tx.CompactDeltas(ctx, "c", "t", []string{"delta"}, 1000)
		if n != 300 {
			t.Errorf("%d removed", n)
		}
		return err
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if inFile() {
		t.Fatal("a removed body is still in the file")
	}
}
