package bundle

import "testing"

func TestValuesHomesAndNamesAreReplacedTheLongestFirst(t *testing.T) {
	r := newRedactor(Person{
		Home: "/home/ada", User: "ada", Host: "box-7",
		Environ: []string{"TOKEN=s3cr3t-value", "DATA=/home/ada/data", "SHORT=on", "EMPTY=", "ODD=a\"b\\c<d>", "HOME=/home/ada"},
		Words:   map[string]string{"/usr/bin:/bin": "$PATH"},
	})
	for in, want := range map[string]string{
		"the token is s3cr3t-value.":         "the token is $TOKEN.",
		"/home/ada/data/ao-host.db":          "$DATA/ao-host.db",
		"/home/ada/x, /home/ada":             "~/x, ~",
		"ada and Canada, by ada@box-7":       "USER and Canada, by USER@HOST",
		"turned on":                          "turned on",
		"not found in PATH (/usr/bin:/bin).": "not found in PATH ($PATH).",
		`{"a":"a\"b\\c\u003cd\u003e"}`:       `{"a":"$ODD"}`,
		`{"a":"a\"b\\c<d>"}`:                 `{"a":"$ODD"}`,
		`plain a"b\c<d>`:                     `plain $ODD`,
	} {
		if got := r.text(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestTheNameRootAndNoNameAtAllAreNoNames(t *testing.T) {
	for _, user := range []string{"root", "", "xy"} {
		r := newRedactor(Person{User: user, Home: "/"})
		if got := r.text("the root of /xy"); got != "the root of /xy" {
			t.Errorf("%q: %q", user, got)
		}
	}
}
