package host

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
)

// RequireToken lets only those requests through to an API that bear a token, for
// TCP, where the kernel does not tell who asks. No harness is given the token, so
// it also keeps agents out.
func RequireToken(api http.Handler, token string) http.Handler {
	want := sha256.Sum256([]byte(token))
	s := &server{writeTimeout: defaultWriteTimeout}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		got := sha256.Sum256([]byte(strings.TrimSpace(given)))
		if token == "" || !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", `Bearer realm="ao-host"`)
			s.writeProblem(w, &Error{Code: CodeUnauthorized})
			return
		}
		api.ServeHTTP(w, r)
	})
}
