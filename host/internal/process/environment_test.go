package process_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host/internal/process"
)

func TestTheEnvironmentIsAnAllowList(t *testing.T) {
	base := []string{
		"PATH=/old", "PATH=/usr/bin:/bin", "HOME=/home/u", "USER=u", "SHELL=/bin/zsh", "LANG=C.UTF-8", "LC_ALL=de_DE", "LC_=x",
		"TERM=xterm", "TMPDIR=/t", "XDG_RUNTIME_DIR=/run/user/1", "https_proxy=http://p", "SSL_CERT_FILE=/c", "SSL_CERT_DIR=/d",
		"AWS_SECRET_ACCESS_KEY=s", "SSH_AUTH_SOCK=/s", "GIT_DIR=/g", "PATHS=no", "LD_PRELOAD=/evil",
		"HARNESS_HOME=/h", "HARNESS_TOKEN=t", "OTHER=o",
		"AO_HOST_SOCKET=/sock", "AO_HOST_DIR=/dir", "AO_HOST_=x",
		"broken", "=C:=x", "", "EMPTY=", "A=b=c",
	}
	got := process.Environment(base, []string{"HARNESS_*", "EMPTY", "A", "AO_HOST_*", "AO_HOST_DIR"},
		[]abi.EnvValue{{Name: "UPDATE_CHECK", Value: "0"}, {Name: "TERM", Value: "dumb"}, {Name: "AO_HOST_SOCKET", Value: "x"}, {Name: "a=b", Value: "x"}, {Name: "NUL", Value: "a\x00b"}, {Name: "", Value: "x"}},
		map[string]string{"HARNESS_HOME": "/assigned", "AO_HOST_DIR": "/x"})
	want := []string{
		"A=b=c", "EMPTY=", "HARNESS_HOME=/assigned", "HARNESS_TOKEN=t", "HOME=/home/u", "LANG=C.UTF-8", "LC_=x", "LC_ALL=de_DE", "NO_PROXY=localhost,127.0.0.1,::1", "PATH=/usr/bin:/bin",
		"SHELL=/bin/zsh", "SSL_CERT_DIR=/d", "SSL_CERT_FILE=/c", "TERM=dumb", "TMPDIR=/t", "UPDATE_CHECK=0", "USER=u", "XDG_RUNTIME_DIR=/run/user/1", "https_proxy=http://p", "no_proxy=localhost,127.0.0.1,::1",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestAStarAllowsEverythingButTheHostsOwnVariables(t *testing.T) {
	got := process.Environment([]string{"X=1", "AO_HOST_TOKEN=t"}, []string{"*"}, nil, nil)
	if !slices.Equal(got, []string{"X=1"}) {
		t.Errorf("got %q", got)
	}
}

func TestAPatternWithoutAStarMatchesTheWholeNameOnly(t *testing.T) {
	got := process.Environment([]string{"KEY=1", "KEYS=2", "MY_KEY=3"}, []string{"KEY"}, nil, nil)
	if !slices.Equal(got, []string{"KEY=1"}) {
		t.Errorf("got %q", got)
	}
}

func TestAProxyIsHonouredAndNotAskedForThisMachine(t *testing.T) {
	for _, c := range []struct {
		base []string
		want string
	}{
		{[]string{"PATH=/bin"}, ""},
		{[]string{"NO_PROXY=corp"}, "corp"},
		{[]string{"HTTPS_PROXY=http://p:1"}, "localhost,127.0.0.1,::1"},
		{[]string{"http_proxy=http://p:1", "no_proxy=corp, 127.0.0.1 ,"}, "corp,127.0.0.1,localhost,::1"},
		{[]string{"all_proxy=http://p:1", "NO_PROXY=a", "no_proxy=b"}, "a,localhost,127.0.0.1,::1"},
		{[]string{"HTTP_PROXY=http://p:1", "NO_PROXY=*"}, "*"},
		{[]string{"HTTP_PROXY=", "PATH=/bin"}, ""},
	} {
		got := map[string]string{}
		for _, kv := range process.Environment(c.base, nil, nil, nil) {
			name, value, _ := strings.Cut(kv, "=")
			got[name] = value
		}
		for _, kv := range c.base {
			if name, value, _ := strings.Cut(kv, "="); !strings.EqualFold(name, "no_proxy") && got[name] != value {
				t.Errorf("%q: %s is %q", c.base, name, got[name])
			}
		}
		if got["NO_PROXY"] != c.want || len(c.base) > 0 && c.want != "corp" && got["no_proxy"] != c.want {
			t.Errorf("%q: NO_PROXY is %q and no_proxy %q, want %q", c.base, got["NO_PROXY"], got["no_proxy"], c.want)
		}
	}
}
