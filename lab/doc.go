// Package lab runs real harnesses in tests: pinned versions from npm, installed by
// lab/install.sh under lab/node_modules, each with a home folder of its own that points
// at a scripted model on loopback (package lab/model). No account and no network are needed.
//
//	h := lab.Require(t, "codex", "0.171.0")   // skips loudly when not installed; fails under AO_LIVE=1
//	srv := model.Start(t, script)
//	home := lab.CodexHome(t, h, srv.URL()+"/v1", lab.CodexOptions{})
//	line := lab.StartLines(t, home, t.TempDir())  // or give home.Argv and home.Env to a host
//
// What was learned about the real harnesses this way is in NOTES.md beside this file.
package lab
