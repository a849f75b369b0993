package module

import (
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aoagents/ao-host/abi"
)

// The shapes of names in a manifest.
var (
	harnessID   = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)
	semver      = regexp.MustCompile(`^(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})(-[0-9A-Za-z.-]{1,64})?(\+[0-9A-Za-z.-]{1,64})?$`)
	envName     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
	factName    = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
	methodName  = regexp.MustCompile(`^[!-~]{1,128}$`)
	placeholder = regexp.MustCompile(`\{[a-z_]+\}`)
	abiVersion  = regexp.MustCompile(`^(0|[1-9]\d{0,3})\.(0|[1-9]\d{0,3})$`)
)

// reservedEnv are prefixes of variables that no manifest may touch: those by
// which the dynamic loader runs other code inside of a program, and the host's
// own.
var reservedEnv = []string{"LD_", "DYLD_", "AO_HOST_"}

// Validate judges the values of a manifest. It returns nil or an [*Error] with
// CodeABIUnsupported, or with CodeManifestInvalid and every problem by its path.
func Validate(m abi.Manifest) error {
	if err := checkABI(m.ABI); err != nil {
		return err
	}
	v := &validator{}
	v.match("harness", m.Harness, harnessID, "must be lower-case letters, digits and hyphens, start with a letter and have at most 32 characters")
	v.text("title", m.Title, 64)
	v.match("binding_version", m.BindingVersion, semver, "must be a semantic version such as 1.2.0")
	v.abiRange(m.ABI)
	if m.StateVersion < 1 {
		v.add("state_version", "must be at least 1")
	}
	v.launch(&m.Launch)
	v.provider(&m.Provider)
	if s := m.Capabilities.Steering; s != "" {
		known(v, "capabilities.steering", s)
	}
	v.vocabulary(&m.Vocabulary)
	if len(m.Calls) == 0 {
		v.add("calls", "must name at least one method")
	}
	v.methods("calls", "", m.Calls)
	v.methods("notifies", "", m.Notifies)
	v.methods("requests", ".method", names(m.Requests, func(r abi.RequestMethod) string { return r.Method }))
	v.limits(m.Limits)
	return v.err()
}

type validator struct{ problems }

func (v *validator) match(path, s string, re *regexp.Regexp, text string) {
	if !re.MatchString(s) {
		v.add(path, text+", not "+quoted(s))
	}
}

// text checks a line that is shown to a person.
func (v *validator) text(path, s string, most int) {
	switch {
	case strings.TrimSpace(s) == "":
		v.add(path, "must not be empty")
	case utf8.RuneCountInString(s) > most:
		v.add(path, "must have at most "+strconv.Itoa(most)+" characters")
	case strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		v.add(path, "must be one line of visible characters")
	}
}

// words checks a command line.
func (v *validator) words(path string, words []string) {
	for i, w := range words {
		at := path + "[" + strconv.Itoa(i) + "]"
		if strings.ContainsRune(w, 0) {
			v.add(at, "must not contain a zero byte")
		}
		for _, ph := range placeholder.FindAllString(w, -1) {
			if ph != "{cwd}" {
				v.add(at, "has the unknown placeholder "+quoted(ph)+"; only {cwd} is replaced")
			}
		}
	}
}

// command checks a command line with its program.
func (v *validator) command(path string, words []string) {
	switch {
	case words[0] == "":
		v.add(path+"[0]", "must name a program")
	case strings.Contains(words[0], "{cwd}"):
		// The program must not come from the project that is worked on.
		v.add(path+"[0]", "must not depend on the working directory")
	}
	v.words(path, words)
}

func (v *validator) launch(l *abi.Launch) {
	if len(l.Argv) == 0 {
		v.add("launch.argv", "must name a program")
	} else {
		v.command("launch.argv", l.Argv)
	}
	for i, pa := range l.PermissionArgv {
		at := "launch.permission_argv[" + strconv.Itoa(i) + "]"
		known(v, at+".permission", pa.Permission)
		v.words(at+".args", pa.Args)
	}
	v.unique("launch.permission_argv", ".permission", names(l.PermissionArgv, func(p abi.PermissionArgs) string { return string(p.Permission) }))
	for i, e := range l.Env {
		v.envPattern("launch.env["+strconv.Itoa(i)+"]", e)
	}
	for i, e := range l.SetEnv {
		at := "launch.set_env[" + strconv.Itoa(i) + "]"
		v.env(at+".name", e.Name)
		if strings.ContainsRune(e.Value, 0) {
			v.add(at+".value", "must not contain a zero byte")
		}
	}
	v.unique("launch.set_env", ".name", names(l.SetEnv, func(e abi.EnvValue) string { return e.Name }))
	if l.HomeVar != "" {
		v.env("launch.home_var", l.HomeVar)
	}
	if l.HomeDir != "" {
		v.localPath("launch.home_dir", l.HomeDir)
	}
	if t := l.SignedIn; t != nil {
		for i, name := range t.Env {
			v.env("launch.signed_in.env["+strconv.Itoa(i)+"]", name)
		}
		v.unique("launch.signed_in.env", "", t.Env)
		for i, file := range t.Files {
			v.localPath("launch.signed_in.files["+strconv.Itoa(i)+"]", file)
		}
		v.unique("launch.signed_in.files", "", t.Files)
		if len(t.Files) > 0 && l.HomeVar == "" && l.HomeDir == "" {
			v.add("launch.signed_in.files", "are in the harness's own folder, so home_var or home_dir must name it")
		}
	}
	for i, f := range l.Facts {
		at := "launch.facts[" + strconv.Itoa(i) + "]"
		v.match(at+".name", f.Name, factName, "must be lower-case letters, digits and underscores, start with a letter and have at most 64 characters")
		v.env(at+".env", f.Env)
	}
	v.unique("launch.facts", ".name", names(l.Facts, func(f abi.EnvFact) string { return f.Name }))
	if len(l.SignIn) > 0 {
		v.command("launch.sign_in", l.SignIn)
	}
	if len(l.VersionArgv) > 0 {
		v.command("launch.version_argv", l.VersionArgv)
	}
	if l.InstallHint != "" {
		v.text("launch.install_hint", l.InstallHint, 500)
	}
}

func (v *validator) env(path, name string) {
	if !envName.MatchString(name) {
		v.add(path, "must be the name of an environment variable, not "+quoted(name))
		return
	}
	for _, r := range reservedEnv {
		if strings.HasPrefix(name, r) {
			v.add(path, "must not be "+name+": variables that start with "+r+" are never given to a harness")
		}
	}
}

// localPath checks a path below a folder: it must not lead out of it.
func (v *validator) localPath(at, p string) {
	if !path.IsAbs(p) && path.Clean(p) == p && p != "." && p != ".." && !strings.HasPrefix(p, "../") && !strings.ContainsAny(p, "\\\x00") {
		v.text(at, p, 200)
		return
	}
	v.add(at, "must be a clean relative path that stays inside its folder, not "+quoted(p))
}

// envPattern checks a name with or without a trailing *.
func (v *validator) envPattern(path, pattern string) {
	prefix, wild := strings.CutSuffix(pattern, "*")
	if !wild {
		v.env(path, pattern)
		return
	}
	if !envName.MatchString(prefix) {
		v.add(path, "must be a name or the start of a name and *, not "+quoted(pattern))
		return
	}
	for _, r := range reservedEnv {
		if strings.HasPrefix(prefix, r) || strings.HasPrefix(r, prefix) {
			v.add(path, "must not match variables that start with "+r+", and "+quoted(pattern)+" does")
		}
	}
}

func (v *validator) provider(p *abi.Provider) {
	if len(p.Versions) == 0 {
		v.add("provider.versions", "must name the versions it was tested against")
	}
	for i, s := range p.Versions {
		v.text("provider.versions["+strconv.Itoa(i)+"]", s, 64)
	}
	v.unique("provider.versions", "", p.Versions)
	v.text("provider.min", p.Min, 64)
	v.text("provider.max", p.Max, 64)
}

func (v *validator) vocabulary(w *abi.Vocabulary) {
	if len(w.Permissions) == 0 {
		v.add("vocabulary.permissions", "must name at least one permission")
	}
	for i, p := range w.Permissions {
		known(v, "vocabulary.permissions["+strconv.Itoa(i)+"]", p)
	}
	v.unique("vocabulary.permissions", "", names(w.Permissions, func(p abi.Permission) string { return string(p) }))
	for i, t := range w.Interactions {
		known(v, "vocabulary.interactions["+strconv.Itoa(i)+"]", t)
	}
	v.unique("vocabulary.interactions", "", names(w.Interactions, func(t abi.InteractionType) string { return string(t) }))
}

// known checks a value against the constants of its type.
func known[T interface {
	~string
	Known() bool
	Values() []T
}](v *validator, path string, x T) {
	if x.Known() {
		return
	}
	all := names(x.Values(), func(y T) string { return string(y) })
	v.add(path, "must be one of "+strings.Join(all, ", ")+", not "+quoted(string(x)))
}

func (v *validator) methods(path, member string, methods []string) {
	for i, n := range methods {
		v.match(path+"["+strconv.Itoa(i)+"]"+member, n, methodName, "must be a method name of at most 128 visible ASCII characters")
	}
	v.unique(path, member, methods)
}

// unique reports repeated names; member is what follows the index in the path.
func (v *validator) unique(path, member string, names []string) {
	seen := make(map[string]bool, len(names))
	for i, n := range names {
		if seen[n] {
			v.add(path+"["+strconv.Itoa(i)+"]"+member, "repeats "+quoted(n))
		}
		seen[n] = true
	}
}

func (v *validator) limits(l abi.Limits) {
	for _, x := range []struct {
		name     string
		got, max int64
	}{
		{"memory_bytes", l.MemoryBytes, abi.MaxMemoryBytes},
		{"fuel_per_step", l.FuelPerStep, abi.MaxFuelPerStep},
		{"fuel_per_byte", l.FuelPerByte, abi.MaxFuelPerByte},
		{"output_bytes", l.OutputBytes, abi.MaxOutputBytes},
	} {
		if x.got < 0 || x.got > x.max {
			v.add("limits."+x.name, "must be within 0 and "+strconv.FormatInt(x.max, 10)+", not "+strconv.FormatInt(x.got, 10))
		}
	}
}

func (v *validator) abiRange(r abi.ABIRange) {
	lo, okLo := parseABI(r.Min)
	hi, okHi := parseABI(r.Max)
	if !okLo {
		v.add("abi.min", "must be an ABI version such as "+abi.Version+", not "+quoted(r.Min))
	}
	if !okHi {
		v.add("abi.max", "must be an ABI version such as "+abi.Version+", not "+quoted(r.Max))
	}
	if okLo && okHi && hi < lo {
		v.add("abi.max", "must not be below abi.min")
	}
}

// checkABI returns the error for a range that is well formed and does not hold
// our version.
func checkABI(r abi.ABIRange) error {
	lo, okLo := parseABI(r.Min)
	hi, okHi := parseABI(r.Max)
	own, _ := parseABI(abi.Version)
	if !okLo || !okHi || lo > hi || lo <= own && own <= hi {
		return nil
	}
	need, fix := "ABI "+r.Min, "update ao-host"
	if r.Min != r.Max {
		need += " to " + r.Max
	}
	if hi < own {
		fix = "update the binding"
	}
	return &Error{
		Code:     CodeABIUnsupported,
		Text:     "the module requires " + need + ", and this host supports ABI " + abi.Version + "; " + fix,
		Required: r, Supported: abi.Version,
	}
}

// parseABI returns major and minor as one number that compares like them.
func parseABI(s string) (int, bool) {
	if !abiVersion.MatchString(s) {
		return 0, false
	}
	major, minor, _ := strings.Cut(s, ".")
	a, errA := strconv.Atoi(major)
	b, errB := strconv.Atoi(minor)
	return a*10000 + b, errA == nil && errB == nil
}

func names[T any](in []T, name func(T) string) []string {
	out := make([]string, len(in))
	for i, x := range in {
		out[i] = name(x)
	}
	return out
}
