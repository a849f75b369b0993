package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	bindingswasm "github.com/aoagents/ao-host/bindings-wasm"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/module"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/packing"
	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/schemas"
)

// codeView is one row of the table of codes in JSON.
type codeView struct {
	Code   string `json:"code"`
	Advice string `json:"advice"`
}

// ownCodes are the codes of the command line and of its tools for the authors of
// bindings; the host has none of them.
var ownCodes = []codeView{
	{codeFailed, "The command line could not do it. The message says why; correct it and try again."},
	{codeTerminalOnly, "The terminal's PATH has a folder that the login shell's has not. Add it to PATH in the start files of the login shell, or give the command's path in config.json in the data folder."},
	{codeUsage, "The command line is wrong. The message says what; the help of the command says what it takes."},
	{schemas.CodeProviderUnknown, "There is no schema generator for this provider. The message lists those there are; the bundle of another one is written by hand."},
	{schemas.CodeGeneratorFailed, "The provider's schema generator could not be run, or failed. Install the provider, or give its command with --launch."},
	{schemas.CodeGeneratorOutput, "The provider's schema generator wrote something of another shape than expected. Use a version of the provider that is known."},
	{schemas.CodeBundleInvalid, "The schema bundle is damaged, or there is none of this version. The message says which; list the bundles, or generate it again."},
	{schemas.CodeMethodUnknown, "The manifest names a method that the provider's schemas do not have. Correct its name, or leave out the provider version without it."},
	{schemas.CodeSectionCorrupt, "The schemas inside the module are damaged. Pack the module again."},
	{schemas.CodeSectionTooLarge, "The schemas inside the module are too large. Name fewer methods or provider versions in the manifest."},
	{schemas.CodeSectionUnsupported, "The schemas inside the module were packed by a newer version. Update ao-host, or pack the module again."},
	{schemas.CodeSchemaInvalid, "A schema cannot be compiled. The message names it; correct the bundle it comes from."},
	{schemas.CodeRecordingInvalid, "A recording is not one frame a line. The message names the line; record it again."},
	{schemas.CodeObservationInvalid, "The observation is not valid. The message names the member; correct it."},
	{packing.CodeVersionMissing, "There are no schemas of a provider version that the manifest names. Generate or write them, and name their folder with --schemas."},
}

// adviceOf is what to do about a code of the command line's own.
func adviceOf(code string) string {
	for _, c := range ownCodes {
		if c.Code == code {
			return c.Advice
		}
	}
	return ""
}

// codeTable is every code, by name.
func codeTable() []codeView {
	out := slices.Clone(ownCodes)
	for _, c := range host.Codes() {
		out = append(out, codeView{string(c.Code), c.Text})
	}
	slices.SortFunc(out, func(a, b codeView) int { return strings.Compare(a.Code, b.Code) })
	return out
}

func (a *App) codesCommand() *cobra.Command {
	return &cobra.Command{
		Use: "codes [CODE …]", Short: "List the error codes with what to do about each",
		Long: "List the error codes with what to do about each, or only those that are named.",
		RunE: func(_ *cobra.Command, args []string) error {
			codes := codeTable()
			for _, name := range args {
				if !slices.ContainsFunc(codes, func(c codeView) bool { return c.Code == name }) {
					return usagef("%q is no code", name)
				}
			}
			if len(args) > 0 {
				codes = slices.DeleteFunc(codes, func(c codeView) bool { return !slices.Contains(args, c.Code) })
			}
			if a.json {
				return a.print(codes)
			}
			var b strings.Builder
			for _, c := range codes {
				b.WriteString(c.Code + "\n" + display.Wrap(c.Advice, "    ", a.con.Width) + "\n")
			}
			return a.write("%s", b.String())
		},
	}
}

// versionView is what version writes as JSON.
type versionView struct {
	Version  string        `json:"version"`
	ABI      string        `json:"abi"`
	Go       string        `json:"go"`
	Platform string        `json:"platform"`
	Bindings []builtInView `json:"bindings"`
}

type builtInView struct {
	Harness string `json:"harness"`
	Version string `json:"version"`
	Digest  string `json:"digest"`
}

func (a *App) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Show the versions of the program, its ABI and its bindings", Args: exactly(),
		RunE: func(*cobra.Command, []string) error {
			v := versionView{Version: host.Version(), ABI: abi.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Bindings: []builtInView{}}
			for _, wasm := range bindingswasm.Modules() {
				m, err := module.ReadManifest(wasm)
				if err != nil {
					return err
				}
				sum := sha256.Sum256(wasm)
				v.Bindings = append(v.Bindings, builtInView{m.Harness, m.BindingVersion, "sha256:" + hex.EncodeToString(sum[:])})
			}
			if a.json {
				return a.print(v)
			}
			text := fmt.Sprintf("ao-host %s\nABI %s\n%s on %s\n", v.Version, v.ABI, v.Go, v.Platform)
			for _, b := range v.Bindings {
				text += fmt.Sprintf("binding %s %s, %s\n", b.Harness, b.Version, shortDigest(b.Digest))
			}
			return a.write("%s", text)
		},
	}
}
