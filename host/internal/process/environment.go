package process

import (
	"maps"
	"slices"
	"strings"

	"github.com/aoagents/ao-host/abi"
)

// BaseEnv lists the variables every child inherits. A trailing * matches a
// prefix. They say who and where the user is, how text is shown, and how to
// reach the network; none of them carries a credential, except what a user put
// into the address of a proxy.
var BaseEnv = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR",
	"LANG", "LC_*", "TERM", "TZ",
	"XDG_*",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
	"http_proxy", "https_proxy", "all_proxy", "no_proxy",
	"SSL_CERT_*",
}

// reservedEnv is the prefix of the host's own variables. They name its socket and
// its data folder, so no child gets them, whoever asks (DESIGN §10).
const reservedEnv = "AO_HOST_"

// Environment makes the environment of a child: of base, usually the login
// environment, what [BaseEnv] and allow admit (a trailing * matches a prefix);
// then set, the fixed values of a manifest; then home, the folders the host
// assigns, such as the harness's own home. Later values replace earlier ones.
// Entries without a usable name are dropped. Where a proxy is set, loopback is
// excepted from it. The result is sorted.
func Environment(base, allow []string, set []abi.EnvValue, home map[string]string) []string {
	env := make(map[string]string)
	put := func(name, value string) {
		if name == "" || strings.HasPrefix(name, reservedEnv) || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
			return
		}
		env[name] = value
	}
	for _, kv := range base {
		name, value, ok := strings.Cut(kv, "=")
		if ok && (matchesAny(BaseEnv, name) || matchesAny(allow, name)) {
			put(name, value)
		}
	}
	for _, v := range set {
		put(v.Name, v.Value)
	}
	for name, value := range home {
		put(name, value)
	}
	exceptLoopback(env)
	out := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		out = append(out, name+"="+env[name])
	}
	return out
}

// loopback are the names that no proxy can reach for us: what listens there is on
// this machine, such as a model server or the sign-in page of a harness.
var loopback = []string{"localhost", "127.0.0.1", "::1"}

// exceptLoopback adds this machine to what is not asked through a proxy, where
// there is one. Programs read the variable in either case, and some only in one.
func exceptLoopback(env map[string]string) {
	if !slices.ContainsFunc([]string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"}, func(name string) bool {
		return env[name] != "" || env[strings.ToLower(name)] != ""
	}) {
		return
	}
	given := env["NO_PROXY"]
	if given == "" {
		given = env["no_proxy"]
	}
	// One asterisk means that no proxy is used at all.
	if strings.TrimSpace(given) != "*" {
		var names []string
		for _, n := range append(strings.Split(given, ","), loopback...) {
			if n = strings.TrimSpace(n); n != "" && !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
		given = strings.Join(names, ",")
	}
	env["NO_PROXY"], env["no_proxy"] = given, given
}

func matchesAny(patterns []string, name string) bool {
	for _, p := range patterns {
		if prefix, ok := strings.CutSuffix(p, "*"); ok && strings.HasPrefix(name, prefix) || p == name {
			return true
		}
	}
	return false
}
