package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/module"
	"github.com/aoagents/ao-host/host/internal/process"
	"github.com/aoagents/ao-host/schemas"
	"github.com/aoagents/ao-host/store"
)

// checkHarness looks at one harness.
func (d *diagnosing) checkHarness(ctx context.Context, id string) (out HarnessCheck) {
	out.Harness = id
	say := func(severity Severity, err error) { out.Findings = append(out.Findings, findingOf(severity, err)) }
	defer func() { out.Usable = !failing(out.Findings) }()
	b, err := d.h.bindings.find(ctx, id)
	if err != nil {
		say(SeverityError, err)
		return out
	}
	m := b.info.Manifest
	out.Title, out.Fit = m.Title, FitUnknown
	out.Binding = &BindingCheck{
		Version: m.BindingVersion, Digest: b.info.Digest, BuiltIn: b.info.BuiltIn, Path: d.paths[b.info.Digest],
		Tested: m.Provider.Versions, Min: m.Provider.Min, Max: m.Provider.Max,
	}
	spec := d.h.launchSpec(m, store.Conversation{Harness: id}, abi.Settings{}, d.env)
	spec.Dir = ""
	out.Command = spec.Argv
	override, replaced := d.h.cfg.Launch[id]
	out.Replaced = replaced && len(override.Argv) > 0
	out.Program, err = process.Find(spec)
	missing := err != nil
	if missing {
		say(SeverityError, d.h.installHint(processError(err), m))
	} else {
		out.Version = d.version(ctx, m, spec)
	}
	if out.SignIn = d.signIn(m, spec.Env); !missing && out.SignIn.State == SignInNotFound {
		say(SeverityNote, fail(CodeSignInUnproven, "There is no trace of a sign-in: %s.", strings.Join(d.traces(m, spec.Env), ", ")).then(m.Launch.SignIn))
	}
	if d.opts.Probe && !missing {
		d.probe(ctx, b, &out)
	}
	set, err := openSchemas(b.wasm)
	if err != nil {
		say(SeverityError, err)
	} else {
		out.Schemas = set.For(out.Version).Provenance().Version
	}
	if out.Version != "" {
		out.Fit = fit(m.Provider, out.Version)
	}
	switch {
	case out.Fit == FitOutside:
		say(SeverityWarning, fail(CodeProviderVersion, "It has version %s; the binding was made for %s to %s.", out.Version, m.Provider.Min, m.Provider.Max))
	case out.Fit == FitUnknown && !missing && !d.opts.Probe:
		say(SeverityNote, fail(CodeProviderUnread, "It does not tell its version without being started."))
	}
	return out
}

// then adds the command that a person runs.
func (e *Error) then(command []string) *Error {
	if len(command) > 0 {
		e.Detail += " The command is: " + strings.Join(command, " ") + "."
	}
	return e
}

func openSchemas(wasm []byte) (*schemas.Set, error) {
	section, err := module.ReadSchemas(wasm)
	if err != nil {
		return nil, moduleError(err)
	}
	set, err := schemas.Open(section)
	if err != nil {
		return nil, &Error{Code: CodeSchemasInvalid, Detail: err.Error() + ".", Err: err}
	}
	return set, nil
}

func fit(p abi.Provider, version string) VersionFit {
	switch {
	case slices.Contains(p.Versions, version):
		return FitTested
	case expects(p, version):
		return FitExpected
	}
	return FitOutside
}

const (
	// versionTime bounds the command that prints a version. A program that has to be
	// compiled when it starts can take seconds.
	versionTime = 20 * time.Second
	// versionOutput is how much of what it prints is looked at, in bytes.
	versionOutput = 4 << 10
)

// versionNumber is the first number with a dot that stands by itself.
var versionNumber = regexp.MustCompile(`(?:^|[\s(@/=vV])(\d+(?:\.\d+)+(?:-[0-9A-Za-z.]+)?)(?:[\s),;]|$)`)

// version asks the program for its version, "" if it does not tell. The command is
// the manifest's, with the program that starts the harness: it is not run where
// another command was put in the harness's place, unless that is the same program.
func (d *diagnosing) version(ctx context.Context, m abi.Manifest, spec process.Spec) string {
	argv := slices.Clone(m.Launch.VersionArgv)
	if len(argv) == 0 {
		return ""
	}
	if spec.Argv[0] != argv[0] {
		if filepath.Base(spec.Argv[0]) != argv[0] {
			return ""
		}
		argv[0] = spec.Argv[0]
	}
	spec.Argv = argv
	if home, err := os.UserHomeDir(); err == nil {
		if _, err := process.RealDir(home); err == nil {
			spec.Dir = home
		}
	}
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	out, exit, err := process.Output(ctx, spec, versionOutput, d.h.cfg.EndGrace)
	if err != nil || exit.Code != 0 {
		d.h.cfg.Logger.Debug("a harness did not tell its version", "harness", m.Harness, "exit", exit.String(), "error", err)
		return ""
	}
	if found := versionNumber.FindSubmatch(out); found != nil {
		return string(found[1])
	}
	return ""
}

// home is the harness's own folder, "" if that is not known.
func (d *diagnosing) home(l abi.Launch, env []string) string {
	if l.HomeVar != "" {
		if dir := variable(env, l.HomeVar); filepath.IsAbs(dir) {
			return dir
		}
	}
	if user := variable(env, "HOME"); l.HomeDir != "" && filepath.IsAbs(user) {
		return filepath.Join(user, filepath.FromSlash(l.HomeDir))
	}
	return ""
}

// signIn looks for the traces of a sign-in that the manifest names. Of a variable
// only whether it is set is looked at, of a file only whether it is there.
func (d *diagnosing) signIn(m abi.Manifest, env []string) *SignInCheck {
	out := &SignInCheck{State: SignInUnknown, Command: m.Launch.SignIn}
	t := m.Launch.SignedIn
	if t == nil {
		return out
	}
	out.State = SignInNotFound
	for _, name := range t.Env {
		if variable(env, name) != "" {
			out.Found = append(out.Found, name)
		}
	}
	if home := d.home(m.Launch, env); home != "" {
		for _, file := range t.Files {
			path := filepath.Join(home, filepath.FromSlash(file))
			if fi, err := os.Stat(path); err == nil && fi.Mode().IsRegular() && fi.Size() > 0 {
				out.Found = append(out.Found, path)
			}
		}
	}
	if len(out.Found) > 0 {
		out.State = SignInFound
	}
	return out
}

// traces say what was looked for in vain.
func (d *diagnosing) traces(m abi.Manifest, env []string) (out []string) {
	for _, name := range m.Launch.SignedIn.Env {
		out = append(out, name+" is not set")
	}
	home := d.home(m.Launch, env)
	for _, file := range m.Launch.SignedIn.Files {
		out = append(out, fmt.Sprintf("%s is not there", filepath.Join(home, filepath.FromSlash(file))))
	}
	return out
}

// probeTime bounds the start of a harness in a probe, with all that comes before it:
// on a slow machine compiling the binding takes longest.
const probeTime = 5 * time.Minute

// probe starts the harness once, in a host of its own on a folder that is removed
// again, so that nothing of it stays in the user's data.
func (d *diagnosing) probe(ctx context.Context, b *binding, out *HarnessCheck) {
	say := func(severity Severity, err error) { out.Findings = append(out.Findings, findingOf(severity, err)) }
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	dir, err := os.MkdirTemp("", "ao-host-probe-")
	if err != nil {
		say(SeverityError, fail(CodeLaunchFailed, "A folder to start it in could not be made: %v.", err))
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	cfg := d.h.cfg
	if !d.out.Data.Usable && d.out.Host == nil || !d.out.Data.Exists {
		// There is no cache yet, or its folder is not ours to write.
		cfg.CacheDir, cfg.DigestDir = filepath.Join(dir, "cache"), filepath.Join(dir, "digests")
	}
	cfg.Dir, cfg.BindingDir, cfg.Env = filepath.Join(dir, "data"), filepath.Join(dir, "bindings"), d.env
	cfg.Bindings, cfg.LogLevels, cfg.TracerProvider, cfg.MeterProvider = [][]byte{b.wasm}, nil, nil, nil
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		say(SeverityError, fail(CodeLaunchFailed, "A folder to start it in could not be made: %v.", err))
		return
	}
	h, err := Open(ctx, cfg)
	if err != nil {
		say(SeverityError, err)
		return
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.EndGrace+5*time.Second)
		defer cancel()
		if err := h.Close(ctx); err != nil {
			say(SeverityWarning, err)
		}
	}()
	c, err := h.Create(ctx, NewConversation{Harness: b.info.Harness, Cwd: work})
	if err != nil {
		say(SeverityError, err)
		return
	}
	controls, err := h.Probe(ctx, c.ID)
	out.Probe = &ProbeCheck{Ready: err == nil, TookMS: time.Since(began).Milliseconds()}
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fail(CodeStartSlow, "It was not ready after %d seconds.", int(probeTime.Seconds()))
		}
		if CodeOf(err) == CodeSignInNeeded {
			out.SignIn.State = SignInNeeded
		}
		say(SeverityError, err)
		return
	}
	out.SignIn.State = SignInNotAsked
	out.Findings = slices.DeleteFunc(out.Findings, func(f Finding) bool { return f.Code == CodeSignInUnproven })
	if v := controls.Session.ProviderVersion; v != "" {
		out.Version = v
	}
	if controls.Catalog != nil {
		out.Probe.Modes, out.Probe.Models = len(controls.Catalog.Modes), len(controls.Catalog.Models)
	}
	for _, p := range controls.Problems {
		switch {
		case p.Code == string(CodeProviderVersion):
			// It is told with the version.
		case p.Needs == abi.NeedsSignIn:
			out.SignIn.State = SignInNeeded
			say(SeverityError, &Error{Code: CodeSignInNeeded, Detail: sentence(p.Message)})
		default:
			say(SeverityWarning, &Error{Code: Code(knownCode(p.Code)), Detail: sentence(p.Message), complete: true})
		}
	}
}
