package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	bindingswasm "github.com/aoagents/ao-host/bindings-wasm"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/module"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
	"github.com/aoagents/ao-host/host"
)

// codeView is one row of the table of codes in JSON.
type codeView struct {
	Code   string `json:"code"`
	Advice string `json:"advice"`
}

func (a *App) codesCommand() *cobra.Command {
	return &cobra.Command{
		Use: "codes", Short: "List the error codes with what to do about each", Args: exactly(),
		RunE: func(*cobra.Command, []string) error {
			codes := host.Codes()
			if a.json {
				views := make([]codeView, len(codes))
				for i, c := range codes {
					views[i] = codeView{string(c.Code), c.Text}
				}
				return a.print(views)
			}
			var b strings.Builder
			for _, c := range codes {
				b.WriteString(string(c.Code) + "\n" + display.Wrap(c.Text, "    ", a.con.Width) + "\n")
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
