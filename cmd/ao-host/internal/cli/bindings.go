package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	bindingswasm "github.com/aoagents/ao-host/bindings-wasm"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/module"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/core"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/packing"
	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/internal/boundedfile"
	"github.com/aoagents/ao-host/schemas"
)

func (a *App) bindingsCommand() *cobra.Command {
	c := group("bindings", "List, allow, inspect and pack bindings",
		a.bindingsListCommand(), a.bindingsAllowCommand(), a.bindingsInspectCommand(), a.bindingsPackCommand())
	c.Long = c.Short + ".\n\nA binding is built in, or a .wasm file in the folder \"bindings\" of the data\nfolder, which is not run before it is allowed."
	return c
}

// builtInHarnesses reads the manifests of the embedded modules; one that cannot
// be read is told by the commands that use it.
func builtInHarnesses() []string {
	var out []string
	for _, wasm := range bindingswasm.Modules() {
		if m, err := module.ReadManifest(wasm); err == nil {
			out = append(out, m.Harness)
		}
	}
	return out
}

// bindingView is a binding in JSON, with the error that keeps it from being
// used.
type bindingView struct {
	host.BindingInfo
	Error *failure `json:"error,omitempty"`
}

func viewOf(b host.BindingInfo) bindingView {
	v := bindingView{BindingInfo: b}
	if b.Err != nil {
		f := describe(b.Err)
		v.Error = &f
	}
	return v
}

func (a *App) bindingsListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the installed bindings", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), nil, func(c core.Core) error {
				all, err := c.Bindings(cmd.Context())
				if err != nil {
					return err
				}
				if a.json {
					views := make([]bindingView, 0, len(all))
					for _, b := range all {
						views = append(views, viewOf(b))
					}
					return a.print(views)
				}
				rows := [][]string{{"HARNESS", "VERSION", "STATUS", "DIGEST", "MADE FOR"}}
				for _, b := range all {
					rows = append(rows, []string{
						or(b.Harness, "?"), or(b.Manifest.BindingVersion, "?"), bindingStatus(b), shortDigest(b.Digest),
						display.Line(strings.Join(b.Manifest.Provider.Versions, ", ")),
					})
				}
				if err := a.write("%s", table(a.con.Width, rows...)); err != nil {
					return err
				}
				for _, b := range all {
					if b.Err != nil {
						if err := a.write("\n%s\n", display.Wrap(or(b.Path, b.Harness)+": "+display.Text(b.Err.Error()), "", a.con.Width)); err != nil {
							return err
						}
					}
				}
				return nil
			})
		},
	}
}

func bindingStatus(b host.BindingInfo) string {
	switch {
	case b.Err != nil && b.Err.Code != host.CodeBindingNotAllowed:
		return "unusable"
	case b.BuiltIn:
		return "built in"
	case b.Allowed:
		return "allowed"
	}
	return "waits for your consent"
}

// shortDigest is enough of a digest to compare two by eye.
func shortDigest(d string) string {
	d = strings.TrimPrefix(d, "sha256:")
	return d[:min(len(d), 12)]
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return display.Line(s)
}

func (a *App) bindingsAllowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "allow NAME", Short: "Allow a module that was put into the bindings folder", Args: exactly("a harness name, file name or digest"),
		Long: "Allow a module that was put into the bindings folder, to run as the binding of a\nharness. The consent is for this very file: another one asks again. What it asks\nfor is shown by: ao-host bindings inspect FILE",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), nil, func(c core.Core) error {
				b, err := c.AllowBinding(cmd.Context(), args[0])
				if host.CodeOf(err) == host.CodeUnknownHarness {
					dir, derr := a.bindingDir()
					if derr != nil {
						return derr
					}
					return &host.Error{Code: host.CodeUnknownHarness, Field: "name", Detail: fmt.Sprintf("No module in %s is named %q.", dir, args[0]), Err: err}
				}
				if err != nil {
					return err
				}
				if a.json {
					return a.print(viewOf(b))
				}
				return a.write("Allowed: %s\n%s", display.Exact(b.Path), manifestText(b.Manifest, b.Digest, a.con.Width))
			})
		},
	}
}

// moduleView is what inspect writes as JSON.
type moduleView struct {
	Digest   string               `json:"digest"`
	Bytes    int                  `json:"bytes"`
	Manifest abi.Manifest         `json:"manifest"`
	Schemas  []schemas.Provenance `json:"schemas"`
	Sections []sectionView        `json:"sections"`
}

type sectionView struct {
	ID    byte   `json:"id"`
	Name  string `json:"name,omitempty"`
	Bytes int    `json:"bytes"`
}

func (a *App) bindingsInspectCommand() *cobra.Command {
	return &cobra.Command{
		Use: "inspect FILE|NAME", Short: "Show what a module asks for, without running it", Args: exactly("a file or a name"),
		Long: "Show what a module asks for, without running it: a file, or by its name one in\nthe bindings folder or one that is built in.",
		RunE: func(cmd *cobra.Command, args []string) error {
			wasm, err := a.moduleOf(args[0])
			if err != nil {
				return err
			}
			v, err := inspect(wasm)
			if err != nil {
				return err
			}
			if a.json {
				return a.print(v)
			}
			text := manifestText(v.Manifest, v.Digest, a.con.Width)
			for _, p := range v.Schemas {
				text += field("schemas", fmt.Sprintf("%s %s, made by: %s", display.Line(p.Package), display.Line(p.Version), words(p.Command)), a.con.Width)
			}
			return a.write("%s", text)
		},
	}
}

func inspect(wasm []byte) (moduleView, error) {
	sum := sha256.Sum256(wasm)
	v := moduleView{Digest: "sha256:" + hex.EncodeToString(sum[:]), Bytes: len(wasm)}
	for s, err := range module.Sections(wasm) {
		if err != nil {
			return v, err
		}
		v.Sections = append(v.Sections, sectionView{s.ID, s.Name, s.End - s.Start})
	}
	var err error
	if v.Manifest, err = module.ReadManifest(wasm); err != nil {
		return v, err
	}
	if err := module.Validate(v.Manifest); err != nil {
		return v, err
	}
	section, err := module.ReadSchemas(wasm)
	if err != nil {
		return v, err
	}
	set, err := schemas.Open(section)
	if err != nil {
		return v, err
	}
	v.Schemas = set.Versions()
	return v, nil
}

// bindingDir is where a person puts modules.
func (a *App) bindingDir() (string, error) {
	dir, err := a.dataDir()
	return filepath.Join(dir, "bindings"), err
}

// moduleOf reads the module of a file, or of a name if there is no such file.
func (a *App) moduleOf(name string) ([]byte, error) {
	_, err := os.Stat(name)
	if err == nil || !errors.Is(err, fs.ErrNotExist) || strings.ContainsRune(name, filepath.Separator) {
		return readModule(name)
	}
	dir, err := a.bindingDir()
	if err != nil {
		return nil, err
	}
	dropped := filepath.Join(dir, strings.TrimSuffix(name, ".wasm")+".wasm")
	if _, err := os.Stat(dropped); err == nil {
		return readModule(dropped)
	}
	for _, wasm := range bindingswasm.Modules() {
		if m, err := module.ReadManifest(wasm); err == nil && m.Harness == name {
			return wasm, nil
		}
	}
	return nil, usagef("the module could not be read: %q is neither a file, nor a module in %s, nor built in", name, dir)
}

// readModule reads a file of at most the size that a host loads.
func readModule(name string) ([]byte, error) {
	b, err := boundedfile.Read(name, abi.MaxModuleBytes)
	var large *boundedfile.TooLargeError
	switch {
	case errors.As(err, &large):
		return nil, &host.Error{Code: host.CodeModuleInvalid, Detail: fmt.Sprintf("The file has %d bytes, and a module has at most %d.", large.Size, large.Max)}
	case err != nil:
		return nil, usagef("the module could not be read: %v", err)
	}
	return b, nil
}

// manifestText shows what a module asks for and what it declares.
func manifestText(m abi.Manifest, digest string, width int) string {
	var b strings.Builder
	row := func(name, text string) { b.WriteString(field(name, text, width)) }
	row("harness", display.Line(m.Harness)+" – "+display.Line(m.Title))
	row("version", display.Line(m.BindingVersion))
	row("sha256", strings.TrimPrefix(digest, "sha256:"))
	row("ABI", display.Line(m.ABI.Min+" to "+m.ABI.Max)+", saved state "+fmt.Sprint(m.StateVersion))
	row("starts", words(m.Launch.Argv))
	for _, p := range m.Launch.PermissionArgv {
		row("", "with "+display.Line(string(p.Permission))+": "+words(p.Args))
	}
	row("environment", display.Exact(strings.Join(m.Launch.Env, " ")))
	var set []string
	for _, e := range m.Launch.SetEnv {
		set = append(set, display.Exact(e.Name+"="+e.Value))
	}
	row("sets", strings.Join(set, " "))
	row("version by", words(m.Launch.VersionArgv))
	row("own folder", display.Exact(ownFolder(m.Launch)))
	row("sign in", words(m.Launch.SignIn))
	if t := m.Launch.SignedIn; t != nil {
		row("signed in by", display.Exact(strings.Join(slices.Concat(t.Env, t.Files), ", ")))
	}
	row("made for", display.Line(strings.Join(m.Provider.Versions, ", ")))
	var perms []string
	for _, p := range m.Vocabulary.Permissions {
		perms = append(perms, display.Line(string(p)))
	}
	row("permissions", strings.Join(perms, ", "))
	row("asks for", vocabulary(m.Vocabulary))
	row("calls", display.Line(strings.Join(slices.Concat(m.Calls, m.Notifies), ", ")))
	var asks, automatic []string
	for _, r := range m.Requests {
		if r.Interactive {
			asks = append(asks, r.Method)
		} else {
			automatic = append(automatic, r.Method)
		}
	}
	row("a person", display.Line(strings.Join(asks, ", ")))
	row("by itself", display.Line(strings.Join(automatic, ", ")))
	row("learns", facts(m.Launch.Facts))
	row("limits", limits(m.Limits))
	return b.String()
}

// vocabulary is what a person may be asked through the binding.
func vocabulary(v abi.Vocabulary) string {
	var out []string
	for _, t := range v.Interactions {
		out = append(out, display.Line(string(t)))
	}
	if v.Proposals {
		out = append(out, "decisions on plans")
	}
	return strings.Join(out, ", ")
}

// facts are the variables of which the binding learns whether they are set.
func facts(list []abi.EnvFact) string {
	var out []string
	for _, f := range list {
		out = append(out, display.Exact(f.Env))
	}
	if len(out) == 0 {
		return ""
	}
	return "whether these are set: " + strings.Join(out, " ")
}

// limits are those a module asks for beside the defaults.
func limits(l abi.Limits) string {
	var out []string
	add := func(n int64, format string) {
		if n > 0 {
			out = append(out, fmt.Sprintf(format, n))
		}
	}
	add(l.MemoryBytes, "%d bytes of memory")
	add(l.FuelPerStep, "%d units of work a step")
	add(l.FuelPerByte, "%d units of work a byte")
	add(l.OutputBytes, "%d bytes of output")
	if len(out) == 0 {
		return "the defaults"
	}
	return strings.Join(out, ", ")
}

// field writes a name and a text beside it, nothing when there is no text.
func field(name, text string, width int) string {
	const column = 13
	if text == "" {
		return ""
	}
	lines := strings.Split(display.Wrap(text, "", width-column), "\n")
	return fmt.Sprintf("%-*s", column, name) + strings.Join(lines, "\n"+strings.Repeat(" ", column)) + "\n"
}

func words(argv []string) string {
	out := make([]string, len(argv))
	for i, w := range argv {
		out[i] = display.Exact(w)
		if w == "" || strings.ContainsAny(w, " \t\n'\"") {
			out[i] = fmt.Sprintf("%q", w)
		}
	}
	return strings.Join(out, " ")
}

func (a *App) bindingsPackCommand() *cobra.Command {
	var out, manifest, tree string
	cmd := &cobra.Command{
		Use: "pack -o OUT --manifest FILE [--schemas DIR] IN.wasm", Short: "Make a binding: append the manifest and its schemas to a module", Args: exactly("a module file"),
		Long: "Make a binding out of what a compiler produced: append the manifest and the\nschemas of the methods that the manifest names, for the provider versions it\nnames. The same input gives the same bytes. A whole example: docs/bindings.md",
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" || manifest == "" {
				return usagef("-o and --manifest are needed")
			}
			wasm, err := readModule(args[0])
			if err != nil {
				return err
			}
			m, err := os.ReadFile(manifest)
			if err != nil {
				return usagef("the manifest could not be read: %v", err)
			}
			bundles, err := treeOf(tree)
			if err != nil {
				return err
			}
			packed, err := packing.Module(wasm, m, bundles)
			if err != nil {
				return err
			}
			if err := writeWhole(out, packed); err != nil {
				return err
			}
			v, err := inspect(packed)
			if err != nil {
				return err
			}
			if a.json {
				return a.print(v)
			}
			return a.write("%s: %d bytes\n%s", display.Exact(out), len(packed), manifestText(v.Manifest, v.Digest, a.con.Width))
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "file to write")
	cmd.Flags().StringVar(&manifest, "manifest", "", "manifest, as JSON")
	cmd.Flags().StringVar(&tree, "schemas", "", "folder of schema bundles, as schemas generate\nwrites it (default: those of this program)")
	return cmd
}

// writeWhole replaces a file in one step, so that a reader never sees half of
// it.
func writeWhole(name string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".ao-host-*")
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", name, err)
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.Write(b)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", name, err)
	}
	return nil
}

// ownFolder names the folder of a harness, by its variable and by where it is
// without one.
func ownFolder(l abi.Launch) string {
	switch {
	case l.HomeDir == "":
		return l.HomeVar
	case l.HomeVar == "":
		return "~/" + l.HomeDir
	}
	return l.HomeVar + ", else ~/" + l.HomeDir
}
