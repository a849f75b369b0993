package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aoagents/ao-host/abi/module"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
	"github.com/aoagents/ao-host/schemas"
	"github.com/aoagents/ao-host/schemas/bundled"
)

func (a *App) schemasCommand() *cobra.Command {
	return group("schemas", "List, generate, infer and compare provider schemas",
		a.schemasListCommand(), a.schemasGenerateCommand(), a.schemasObserveCommand(), a.schemasDiffCommand())
}

// treeOf is the folder of bundles that a command works on.
func treeOf(dir string) (fs.FS, error) {
	if dir == "" {
		return bundled.FS(), nil
	}
	st, err := os.Stat(dir)
	switch {
	case err != nil:
		return nil, usagef("the folder of schema bundles could not be read: %v", err)
	case !st.IsDir():
		return nil, usagef("%s is a file; schema bundles are a folder with PROVIDER/VERSION/ in it", dir)
	}
	return os.DirFS(dir), nil
}

func (a *App) schemasListCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "list", Short: "List the schemas with where they come from", Args: exactly(),
		RunE: func(*cobra.Command, []string) error {
			tree, err := treeOf(dir)
			if err != nil {
				return err
			}
			list, err := schemas.List(tree)
			if err != nil {
				return err
			}
			if a.json {
				return a.print(listed(list))
			}
			rows := [][]string{{"PROVIDER", "VERSION", "GENERATED", "DIGEST", "COMMAND"}}
			for _, p := range list {
				rows = append(rows, []string{p.Provider, p.Version, p.Generated, shortDigest(p.Digest), words(p.Command)})
			}
			return a.write("%s", table(a.con.Width, rows...))
		},
	}
	cmd.Flags().StringVar(&dir, "from", "", "folder of schema bundles (default: those of\nthis program)")
	return cmd
}

func (a *App) schemasGenerateCommand() *cobra.Command {
	var out string
	var command []string
	var version, installed string
	cmd := &cobra.Command{
		Use: "generate PROVIDER -o DIR", Short: "Run a provider's own schema generator and write the bundle", Args: exactly("a provider"),
		Long: "Run a provider's own schema generator and write the bundle. Where the schemas\nare files of a published package, npm gets it, or an installed copy is read.\nThere is a generator for: " + strings.Join(schemas.Providers(), ", ") + ". The bundle of another provider is\ninferred from recordings with schemas observe, or written by hand:\ndocs/bindings.md",
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return usagef("-o is needed")
			}
			b, err := schemas.Generate(cmd.Context(), schemas.GenerateOptions{
				Provider: args[0], Command: command, PackageVersion: version, PackageDir: installed, Out: out,
			})
			if err != nil {
				return err
			}
			if a.json {
				return a.print(b.Provenance)
			}
			return a.write("%s %s: %d methods, %d definitions\ndigest %s\n", b.Provenance.Provider, display.Line(b.Provenance.Version), len(b.Methods), len(b.Definitions), b.Provenance.Digest)
		},
	}
	cmd.ValidArgs = schemas.Providers()
	cmd.Flags().StringVarP(&out, "output", "o", "", "folder that gets PROVIDER/VERSION/")
	cmd.Flags().StringArrayVar(&command, "launch", nil, "command that runs the provider instead of the\nusual one; once for each word")
	cmd.Flags().StringVar(&version, "package-version", "", "version of a published package (default: the\nnewest)")
	cmd.Flags().StringVar(&installed, "package-dir", "", "folder of an installed copy of the package")
	return cmd
}

func (a *App) schemasObserveCommand() *cobra.Command {
	var out, dir, root string
	cmd := &cobra.Command{
		Use: "observe FILE -o DIR", Short: "Infer from recordings what a harness sends beside its protocol", Args: exactly("an observation file"),
		Long: "Infer from recordings what a harness sends beside the protocol it speaks, and\nwrite a bundle that extends the protocol's. FILE says which recordings; it and\nthe folders it names are relative to the root.",
		RunE: func(_ *cobra.Command, args []string) error {
			if out == "" {
				return usagef("-o is needed")
			}
			tree, err := treeOf(dir)
			if err != nil {
				return err
			}
			files := os.DirFS(root)
			o, err := schemas.ReadObservation(files, filepath.ToSlash(filepath.Clean(args[0])))
			if err != nil {
				return err
			}
			b, err := schemas.Observe(o, schemas.ObserveOptions{Root: files, Tree: tree, Out: out})
			if err != nil {
				return err
			}
			if a.json {
				return a.print(b.Provenance)
			}
			return a.write("%s %s: %d methods beside those of %s %s\ndigest %s\n", display.Line(o.Provider), display.Line(o.Version), len(b.Methods), display.Line(o.Extends.Provider), display.Line(o.Extends.Version), b.Provenance.Digest)
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "folder that gets PROVIDER/VERSION/ and, if it is\nnot there, the bundle of the protocol")
	cmd.Flags().StringVar(&dir, "from", "", "folder of schema bundles (default: those of\nthis program)")
	cmd.Flags().StringVar(&root, "root", ".", "folder that FILE is relative to")
	return cmd
}

func (a *App) schemasDiffCommand() *cobra.Command {
	var dir, binding string
	cmd := &cobra.Command{
		Use: "diff PROVIDER OLD NEW", Short: "Say what a newer provider version changed", Args: exactly("a provider", "an old version", "a new version"),
		Long: "Say what a newer provider version changed. With --binding only the methods that\nthe binding uses are compared. The exit code is 0 also when there are breaking\nchanges; they are marked with an exclamation mark.",
		RunE: func(_ *cobra.Command, args []string) error {
			tree, err := treeOf(dir)
			if err != nil {
				return err
			}
			older, err := schemas.Read(tree, args[0], args[1])
			if err != nil {
				return err
			}
			newer, err := schemas.Read(tree, args[0], args[2])
			if err != nil {
				return err
			}
			var methods []string
			if binding != "" {
				wasm, err := readModule(binding)
				if err != nil {
					return err
				}
				m, err := module.ReadManifest(wasm)
				if err != nil {
					return err
				}
				used := schemas.UsedBy(m)
				methods = slices.Concat(used.Calls, used.Notifies, used.Requests)
			}
			r := schemas.Diff(older, newer, methods)
			if a.json {
				return a.print(r)
			}
			return a.write("%s\n", strings.TrimRight(display.Text(r.Text()), "\n"))
		},
	}
	cmd.Flags().StringVar(&dir, "from", "", "folder of schema bundles (default: those of\nthis program)")
	cmd.Flags().StringVar(&binding, "binding", "", "module whose methods are compared")
	return cmd
}
