// Command gen writes what is derived from the HTTP API's route table: the OpenAPI
// document and the TypeScript types. Run it with "go generate ./api".
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/aoagents/ao-host/api/internal/openapi"
	"github.com/aoagents/ao-host/api/internal/typescript"
)

func main() {
	dir := flag.String("root", "..", "root folder of the module")
	flag.Parse()
	if err := run(*dir); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	doc, err := openapi.Document(os.DirFS(dir))
	if err != nil {
		return err
	}
	types, err := typescript.Types(doc)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	return errors.Join(
		root.WriteFile("api/openapi.json", doc, 0o644),
		root.WriteFile("api/ts/index.d.ts", types, 0o644),
		root.Close(),
	)
}
