package acp_test

import (
	"path/filepath"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/bindings-src/acp"
	"github.com/aoagents/ao-host/bindings-src/acp/acptest"
	"github.com/aoagents/ao-host/bindings-src/claude"
	"github.com/aoagents/ao-host/bindings-src/grok"
	"github.com/aoagents/ao-host/bindings-src/kimchi"
)

const session = "s-1"

// agent is one harness as the tests over all dialects need it: how it opens and how it
// says things.
type agent struct {
	name     string
	manifest string
	new      func() guest.Reducer
	// initialize and session are the answers that open a session.
	initialize, session string
	// native maps a wish to the mode that the agent is told.
	native map[abi.Permission]string
	// setMode is how a mode is set: the option's id, or "" for session/set_mode.
	setMode string
	// proves: a change of mode is told by current_mode_update only.
	proves bool
}

func (a *agent) String() string { return a.name }

const (
	modelOption  = `{"id":"model","name":"Model","category":"model","type":"select","currentValue":"m-1","options":[{"value":"m-1","name":"One"},{"value":"m-2","name":"Two"}]}`
	effortOption = `{"id":"effort","name":"Effort","category":"thought_level","type":"select","currentValue":"default","options":[{"value":"default","name":"Default"},{"value":"low","name":"Low"},{"value":"high","name":"High"}]}`
	claudeMode   = `{"id":"mode","name":"Mode","category":"mode","type":"select","currentValue":"auto","options":[{"value":"default","name":"Manual"},{"value":"acceptEdits","name":"Accept"},{"value":"plan","name":"Plan"},{"value":"auto","name":"Auto"},{"value":"dontAsk","name":"Don't"},{"value":"bypassPermissions","name":"Bypass"}]}`
	fastOption   = `{"id":"fast","name":"Fast","category":"model_config","type":"select","currentValue":"off","options":[{"value":"on","name":"On"},{"value":"off","name":"Off"}]}`
	kimchiMode   = `{"id":"permissions-mode","name":"Permissions","category":"mode","type":"select","currentValue":"auto","options":[{"value":"default","name":"Ask"},{"value":"plan","name":"Plan"},{"value":"auto","name":"Auto"},{"value":"yolo","name":"YOLO"}]}`
	capabilities = `"agentCapabilities":{"loadSession":true,"promptCapabilities":{"image":true},"sessionCapabilities":{"list":{},"resume":{},"close":{}}}`
)

var claudeAgent = &agent{
	name: "claude", manifest: filepath.Join("..", "claude", "manifest.json"), new: func() guest.Reducer { return claude.New() },
	initialize: `{"protocolVersion":1,` + capabilities + `,"agentInfo":{"name":"x","version":"0.101.0"},"authMethods":[]}`,
	session:    `{"sessionId":"s-1","modes":{"currentModeId":"auto","availableModes":[{"id":"auto","name":"Auto"}]},"configOptions":[` + claudeMode + `,` + modelOption + `,` + effortOption + `,` + fastOption + `]}`,
	native: map[abi.Permission]string{abi.PermissionDefault: "default", abi.PermissionAcceptEdits: "acceptEdits",
		abi.PermissionAuto: "auto", abi.PermissionBypass: "bypassPermissions"},
	setMode: "mode",
}

var grokAgent = &agent{
	name: "grok", manifest: filepath.Join("..", "grok", "manifest.json"), new: func() guest.Reducer { return grok.New() },
	initialize: `{"protocolVersion":1,` + capabilities + `,"authMethods":[{"id":"xai.api_key","name":"k"},{"id":"grok.com","name":"b"}],"_meta":{"agentVersion":"1.0.41"}}`,
	session:    `{"sessionId":"s-1","models":{"currentModelId":"m-1","availableModels":[{"modelId":"m-1","name":"One"}]},"configOptions":[` + modelOption + `]}`,
	native: map[abi.Permission]string{abi.PermissionDefault: "default", abi.PermissionAcceptEdits: "default",
		abi.PermissionAuto: "default", abi.PermissionBypass: "default"},
	proves: true,
}

var kimchiAgent = &agent{
	name: "kimchi", manifest: filepath.Join("..", "kimchi", "manifest.json"), new: func() guest.Reducer { return kimchi.New() },
	initialize: `{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"list":{},"close":{}},"promptCapabilities":{"image":false}},"authMethods":[{"id":"kimchi-agent","name":"b"}]}`,
	session:    `{"sessionId":"s-1","configOptions":[` + kimchiMode + `,` + modelOption + `],"models":{"currentModelId":"m-1","availableModels":[{"modelId":"m-1","name":"One"}]}}`,
	native: map[abi.Permission]string{abi.PermissionDefault: "default", abi.PermissionAcceptEdits: "default",
		abi.PermissionAuto: "auto", abi.PermissionBypass: "yolo"},
	setMode: "permissions-mode",
}

var agents = []*agent{claudeAgent, grokAgent, kimchiAgent}

func eachAgent(t *testing.T, test func(t *testing.T, a *agent)) {
	t.Helper()
	for _, a := range agents {
		t.Run(a.name, func(t *testing.T) { test(t, a) })
	}
}

func schemasOf(t testing.TB, a *agent) *acptest.Schemas {
	t.Helper()
	return acptest.LoadSchemas(t, a.manifest)
}

// rig is a rig on an agent, with its schemas.
func (a *agent) rig(t testing.TB) *acptest.Rig {
	t.Helper()
	r := acptest.NewRig(t, a.new)
	if a.manifest != "" {
		r.Schemas = schemasOf(t, a)
	}
	return r
}

// ready opens a new session.
func (a *agent) ready(t testing.TB) *acptest.Rig {
	t.Helper()
	r := a.rig(t)
	r.Open(nil)
	r.Result("initialize", a.initialize)
	r.Result("session/new", a.session)
	acptest.One(t, r.All, acptest.Ready)
	return r
}

// restored opens a session that is loaded.
func (a *agent) restored(t testing.TB) *acptest.Rig {
	t.Helper()
	r := a.rig(t)
	r.Open(func(o *abi.Open) { o.NativeSession, o.Used, o.Generation = session, true, 2 })
	r.Result("initialize", a.initialize)
	r.Result("session/load", a.session)
	return r
}

// grant answers setters until the prompt is sent, as an agent that does what it is told.
func grant(t testing.TB, r *acptest.Rig, a *agent) {
	t.Helper()
	for range 20 {
		switch {
		case r.Waits("session/prompt") != nil:
			return
		case r.Waits("session/set_mode") != nil:
			mode := member(t, r.Waits("session/set_mode").Params, "modeId")
			r.Result("session/set_mode", "{}")
			r.Notify("session/update", modeUpdate(mode))
		case r.Waits("session/set_config_option") != nil:
			p := r.Waits("session/set_config_option").Params
			r.Result("session/set_config_option", withOption(t, a.session, member(t, p, "configId"), member(t, p, "value")))
			a.session = withOption(t, a.session, member(t, p, "configId"), member(t, p, "value"))
		default:
			t.Fatalf("neither a setter nor the prompt was sent:\n%s", r.Log)
		}
	}
	t.Fatal("setters without end")
}

// clone is a copy that remembers what it was told by itself.
func (a *agent) clone() *agent { b := *a; return &b }

// begin runs a turn up to its prompt.
func begin(t testing.TB, a *agent, s abi.Settings) *acptest.Rig {
	t.Helper()
	r := a.ready(t)
	r.Submit("t1", s)
	grant(t, r, a.clone())
	return r
}

// plain is an agent about which nothing is known.
func plain(initialize, session string) *agent {
	return &agent{name: "plain", new: func() guest.Reducer { return acp.New(acp.Plain("Agent")) }, initialize: initialize, session: session}
}
