package cli

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
	"github.com/aoagents/ao-host/host"
)

// text is the diagnosis for a person.
func (v *doctorView) text(width int, home string) string {
	r := doctorText{width: width, home: home, path: strings.Join(v.Environment.Path, string(filepath.ListSeparator))}
	r.row("ao-host", fmt.Sprintf("%s, %s, %s", v.Program, v.Platform, v.Go))
	r.say(v.Settings)
	r.row("daemon", v.Daemon.text())
	r.say(v.Daemon.Findings)
	if h := v.Host; h != nil {
		r.row("", fmt.Sprintf("%s, %s, %s in use", plural(h.Conversations, "conversation"), plural(h.Sessions, "session"), size(int64(h.HeapBytes))))
		r.say(h.Findings)
	}
	r.row("data folder", dataText(v.Data))
	r.say(v.Data.Findings)
	r.row("environment", environmentText(v.Environment))
	if v.notFound() {
		r.row("  PATH", display.Exact(strings.Join(v.Environment.Path, " ")))
	}
	r.say(v.Environment.Findings)
	usable := 0
	for _, h := range v.Harnesses {
		r.b.WriteString("\n")
		r.harness(h)
		if h.Usable {
			usable++
		}
	}
	if len(v.Modules) > 0 {
		r.b.WriteString("\n")
	}
	for _, m := range v.Modules {
		r.row("module", display.Exact(m.Path))
		r.say([]host.Finding{m.Finding})
	}
	r.b.WriteString("\n" + fmt.Sprintf("%d of %s can be used.", usable, plural(len(v.Harnesses), "harness")) + "\n")
	if b := v.Bundle; b != nil {
		text := fmt.Sprintf("%s, %s, is the archive for a bug report. Nothing that was said is in it; look through it before you give it to anybody.", display.Exact(b.File), size(b.Bytes))
		if b.WithText {
			text = fmt.Sprintf("%s, %s, is the archive for a bug report. IT HOLDS WHAT WAS SAID in the conversations; look through it before you give it to anybody.", display.Exact(b.File), size(b.Bytes))
		}
		r.b.WriteString(display.Wrap(text, "", width) + "\n")
	}
	return r.b.String()
}

// notFound reports whether a program was looked for in vain.
func (v *doctorView) notFound() bool {
	return slices.ContainsFunc(v.Harnesses, func(h host.HarnessCheck) bool {
		return slices.ContainsFunc(h.Findings, func(f host.Finding) bool {
			return f.Code == host.CodeHarnessNotFound || f.Code == host.CodeInterpreterMissing
		})
	})
}

func (d daemonCheck) text() string {
	switch {
	case d.PID > 0:
		return fmt.Sprintf("process %d, version %s, %s", d.PID, d.Version, display.Exact(cmp.Or(d.Socket, d.Address)))
	case len(d.Findings) > 0:
		return "does not answer"
	}
	return "not running; commands that need one start it"
}

func dataText(d host.DataCheck) string {
	text := display.Exact(d.Dir)
	if !d.Exists {
		text += " (nothing there yet)"
	} else {
		text += ", " + size(d.DataBytes+d.LogBytes+d.BackupBytes)
	}
	if d.FreeBytes >= 0 {
		text += ", " + size(d.FreeBytes) + " free"
	}
	return text
}

func environmentText(e host.EnvironmentCheck) string {
	text := "as given to this process"
	switch e.Source {
	case host.EnvironmentLogin:
		text = fmt.Sprintf("of the login shell %s, which took %.1f s", display.Exact(e.Shell), float64(e.TookMS)/1000)
	case host.EnvironmentOwn:
		text = "of this process, not of the login shell"
	}
	return text + "; " + plural(len(e.Path), "folder") + " in PATH"
}

// doctorText writes rows of a name and a text, with findings below them. PATH is
// shown once, where something was not found by it.
type doctorText struct {
	b     strings.Builder
	width int
	home  string
	path  string
}

func (r *doctorText) row(name, text string) { r.b.WriteString(field(name, r.short(text), r.width)) }

// short writes the person's home directory as they do.
func (r *doctorText) short(text string) string {
	if r.home == "" || r.home == "/" {
		return text
	}
	return strings.ReplaceAll(text, strings.TrimSuffix(r.home, "/")+"/", "~/")
}

func (r *doctorText) say(findings []host.Finding) {
	for _, f := range findings {
		text := strings.ReplaceAll(f.Text, " ("+r.path+")", "")
		text = display.Text(string(f.Code) + ": " + strings.TrimSpace(text+" "+f.Advice))
		r.row("  "+string(f.Severity), text)
	}
}

func (r *doctorText) harness(h host.HarnessCheck) {
	what := display.Line(h.Title)
	if !h.Usable {
		what = strings.TrimPrefix(what+" – cannot be used", " – ")
	}
	r.row(display.Line(h.Harness), what)
	if h.Program != "" {
		r.row("  program", display.Exact(h.Program))
	}
	if h.Replaced {
		r.row("  command", words(h.Command)+" (from the settings)")
	}
	if b := h.Binding; b != nil {
		from := "built in"
		if !b.BuiltIn {
			from = display.Exact(b.Path)
		}
		r.row("  version", versionText(h))
		r.row("  binding", fmt.Sprintf("%s (%s), for %s", display.Line(b.Version), from, versions(b)))
	}
	if s := h.SignIn; s != nil {
		r.row("  sign-in", signInText(*s))
	}
	if p := h.Probe; p != nil && p.Ready {
		r.row("  probe", fmt.Sprintf("ready after %.1f s: %s, %s", float64(p.TookMS)/1000, plural(p.Modes, "mode"), plural(p.Models, "model")))
	}
	r.say(h.Findings)
}

func versions(b *host.BindingCheck) string {
	text := display.Line(strings.Join(b.Tested, ", "))
	switch {
	case slices.Contains(b.Tested, b.Max):
	case b.Max == "x":
		text += " and any other"
	default:
		text += ", up to " + display.Line(b.Max)
	}
	return text
}

func versionText(h host.HarnessCheck) string {
	v := display.Line(h.Version)
	switch h.Fit {
	case host.FitTested:
		return v + ", which the binding was tested with"
	case host.FitExpected:
		return v + ", which the binding fits; checked by the schemas of " + display.Line(h.Schemas)
	case host.FitOutside:
		return v + "; checked by the schemas of " + display.Line(h.Schemas)
	}
	return ""
}

func signInText(s host.SignInCheck) string {
	switch s.State {
	case host.SignInFound:
		return "found " + display.Exact(strings.Join(s.Found, ", "))
	case host.SignInNotFound:
		return "no trace found"
	case host.SignInNeeded:
		return "needed; run: " + words(s.Command)
	case host.SignInNotAsked:
		return "not asked for"
	}
	return "not known; if it asks for one, run: " + words(s.Command)
}

// size is a number of bytes for a person.
func size(n int64) string {
	const unit = 1000
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	f, names := float64(n), "kMGT"
	i := -1
	for f >= unit && i < len(names)-1 {
		f /= unit
		i++
	}
	if f < 10 {
		return fmt.Sprintf("%.1f %cB", f, names[i])
	}
	return fmt.Sprintf("%.0f %cB", f, names[i])
}

// plural is a number and a noun.
func plural(n int, noun string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(noun, "s"):
		noun += "es"
	default:
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
