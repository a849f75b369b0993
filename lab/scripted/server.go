package scripted

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/google/uuid"
)

// Config is what a Server runs with. Only Script, Stdin, Stdout and Stderr are needed.
type Config struct {
	Script Script
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	// Home keeps threads over restarts; empty keeps them in memory only.
	Home string
	Now  func() time.Time
	// NewID makes the ids of threads, turns and items; nil makes UUIDs of version 7 like the real harness.
	NewID func() string
}

// Server is one process of the scripted harness.
type Server struct {
	process
	script  Script
	version string
	old     bool // behaves like 0.153.4
	home    string
	now     func() time.Time
	newID   func() string

	// Under process.mu:
	client  string // name the client gave itself
	ready   bool   // initialize was answered
	threads map[string]*thread
}

// New makes a server that Run runs.
func New(c Config) *Server {
	s := &Server{
		script: c.Script, version: c.Script.Version, home: c.Home, now: c.Now, newID: c.NewID, threads: map[string]*thread{},
	}
	if s.version == "" {
		s.version = Version171
	}
	s.old = s.version == Version153
	if s.now == nil {
		s.now = time.Now
	}
	if s.newID == nil {
		s.newID = func() string {
			id, err := uuid.NewV7()
			if err != nil {
				return uuid.NewString()
			}
			return id.String()
		}
	}
	s.init(c.Stdin, &wire{w: c.Stdout, now: s.now}, c.Stderr, c.Script.Methods)
	s.requested = s.dispatch
	s.notified = func(string, json.RawMessage) {} // the only one is initialized, and nothing waits for it
	return s
}

// Run serves until the input ends or the script ends the process, and returns the exit code.
func (s *Server) Run() int {
	return s.run(func() {
		begin := &run{s: s, ctx: s.ctx, th: &thread{vars: map[string]string{}}, bare: true}
		_ = begin.steps(s.script.Start) // such steps end in nothing but the end of the process
	}, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, t := range s.threads {
			t.file.close()
		}
	})
}

type handler func(*Server, json.RawMessage, *params)

// handlers are the methods that are served. The rest of the real ones are refused as unscripted.
var handlers = map[string]handler{
	"initialize":             (*Server).initialize,
	"model/list":             (*Server).modelList,
	"collaborationMode/list": (*Server).modeList,
	"account/read":           (*Server).accountRead,
	"thread/start":           (*Server).threadStart,
	"thread/resume":          (*Server).threadResume,
	"thread/read":            (*Server).threadRead,
	"thread/items/list":      (*Server).itemsList,
	"thread/turns/list":      (*Server).turnsList,
	"thread/settings/update": (*Server).settingsUpdate,
	"thread/name/set":        (*Server).nameSet,
	"thread/unsubscribe":     (*Server).unsubscribe,
	"turn/start":             (*Server).turnStart,
	"turn/steer":             (*Server).turnSteer,
	"turn/interrupt":         (*Server).turnInterrupt,
}

func (s *Server) dispatch(m inbound) {
	h, known := handlers[*m.Method]
	if !known {
		names := make([]string, 0, len(handlers))
		for name := range handlers {
			names = append(names, name)
		}
		s.out.fail(m.ID, unknownVariant(*m.Method, sorted(names)))
		return
	}
	p := readParams(m.Params)
	s.mu.Lock()
	ready := s.ready
	s.mu.Unlock()
	switch {
	case p.err != nil:
		s.out.fail(m.ID, p.err)
	case !ready && *m.Method != "initialize":
		s.out.fail(m.ID, refused("Not initialized"))
	default:
		h(s, m.ID, p)
	}
}

func (s *Server) initialize(id json.RawMessage, p *params) {
	info := p.object("clientInfo")
	if info == nil {
		s.out.fail(id, orError(p.err, p.absent("clientInfo", "struct ClientInfo")))
		return
	}
	name, version := info.need("name"), info.need("version")
	if info.err != nil {
		s.out.fail(id, info.err)
		return
	}
	s.mu.Lock()
	again := s.ready
	s.ready, s.client = true, name
	s.mu.Unlock()
	if again {
		s.out.fail(id, refused("Already initialized"))
		return
	}
	s.out.result(id, object{
		"userAgent": fmt.Sprintf("%s/%s (Scripted; none) script (%s; %s)", name, s.version, name, version),
		"codexHome": s.home, "platformFamily": "unix", "platformOs": "linux",
	})
	for _, w := range s.script.ConfigWarnings {
		s.out.notify("configWarning", object{"summary": w, "details": nil})
	}
	s.out.notify("remoteControl/status/changed", object{"status": "disabled", "serverName": "scripted",
		"installationId": "00000000-0000-4000-8000-000000000000", "environmentId": nil})
}

func orError(e, fallback *RPCError) *RPCError {
	if e != nil {
		return e
	}
	return fallback
}

// Main runs the scripted harness as a program; args are those after the program's name
// and env is the environment as in os.Environ. It returns the exit code.
//
// With "acp" as the first argument it is MainACP.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	if len(args) > 0 && args[0] == "acp" {
		return MainACP(args[1:], stdin, stdout, stderr, env)
	}
	lookup := environment(env)
	script, version, err := readArgs(args, stdout)
	switch {
	case errors.Is(err, errDone):
		return 0
	case err != nil:
		_, _ = fmt.Fprintf(stderr, "scripted harness: %v\n", err)
		return 2
	}
	s, err := find(script, lookup)
	if err == nil && version != "" {
		s.Version = version
		err = s.validate()
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "scripted harness: %v\n", err)
		return 2
	}
	return New(Config{Script: s, Stdin: stdin, Stdout: stdout, Stderr: stderr, Home: lookup("CODEX_HOME")}).Run()
}

var errDone = errors.New("nothing more to do")

func readArgs(args []string, stdout io.Writer) (script, version string, err error) {
	for i := 0; i < len(args); i++ {
		value := func() string {
			i++
			if i < len(args) {
				return args[i]
			}
			err = fmt.Errorf("%s needs a value", args[i-1])
			return ""
		}
		switch args[i] {
		case "app-server":
		case "--script":
			script = value()
		case "--provider-version":
			version = value()
		case "-c":
			value() // configuration of the real harness: nothing here reads it
		case "--version":
			_, _ = fmt.Fprintln(stdout, "codex-cli "+Version171+" (scripted)")
			return "", "", errDone
		default:
			return "", "", fmt.Errorf("unknown argument %q; see the package documentation of lab/scripted", args[i])
		}
		if err != nil {
			return "", "", err
		}
	}
	return script, version, nil
}

// workingDir is where a thread without a cwd works.
func workingDir() string {
	dir, err := os.Getwd()
	if err != nil {
		return string(os.PathSeparator)
	}
	return dir
}
