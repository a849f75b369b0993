package scripted

import "encoding/json"

// The enum values that the real harness accepts.
var (
	modes            = []string{"plan", "code", "custom", "default", "execute", "pair_programming"}
	approvalPolicies = []string{"untrusted", "on-request", "granular", "never"}
	reviewers        = []string{"user", "auto_review", "guardian_subagent"}
	sandboxModes     = []string{"read-only", "workspace-write", "danger-full-access"}
	sandboxTypes     = []string{"dangerFullAccess", "readOnly", "externalSandbox", "workspaceWrite"}
)

// settings are what a thread remembers from turn to turn: everything is sticky.
type settings struct {
	Model          string  `json:"model"`
	Effort         string  `json:"effort,omitempty"`
	Mode           string  `json:"mode,omitempty"` // empty: never chosen, which acts as default
	ApprovalPolicy string  `json:"approval_policy"`
	Reviewer       string  `json:"reviewer"`
	Sandbox        sandbox `json:"sandbox"`
}

// sandbox is a sandboxPolicy of the types that a thread can be in.
type sandbox struct {
	Type    string `json:"type"`
	Network bool   `json:"networkAccess"`
	// Roots is kept as JSON text, so that settings can be compared.
	Roots         string `json:"roots,omitempty"`
	ExcludeTmpVar bool   `json:"excludeTmpdirEnvVar"`
	ExcludeTmp    bool   `json:"excludeSlashTmp"`
}

func sandboxOf(mode string) sandbox {
	switch mode {
	case "workspace-write":
		return sandbox{Type: "workspaceWrite"}
	case "danger-full-access":
		return sandbox{Type: "dangerFullAccess"}
	default:
		return sandbox{Type: "readOnly"}
	}
}

func (s sandbox) mode() string {
	return map[string]string{"readOnly": "read-only", "workspaceWrite": "workspace-write",
		"dangerFullAccess": "danger-full-access"}[s.Type]
}

func (s sandbox) wire() object {
	switch s.Type {
	case "dangerFullAccess":
		return object{"type": s.Type}
	case "workspaceWrite":
		roots := json.RawMessage("[]")
		if s.Roots != "" {
			roots = json.RawMessage(s.Roots)
		}
		return object{"type": s.Type, "writableRoots": roots, "networkAccess": s.Network,
			"excludeTmpdirEnvVar": s.ExcludeTmpVar, "excludeSlashTmp": s.ExcludeTmp}
	case "externalSandbox":
		return object{"type": s.Type, "networkAccess": "restricted"}
	default:
		return object{"type": s.Type, "networkAccess": s.Network}
	}
}

// modeSettings is the collaborationMode in force. Built-in instructions are told in full
// by the real harness; here their first words stand for them.
func (s settings) modeSettings() object {
	mode, instructions := s.Mode, "# Collaboration Mode: Default\n"
	if mode == "" {
		mode = "default"
	}
	if mode == "plan" {
		instructions = "# Plan Mode (Conversational)\n"
	}
	return object{"mode": mode, "settings": object{"model": s.Model, "reasoning_effort": orNull(s.Effort), "developer_instructions": instructions}}
}

// policy is the approval policy as JSON: a word, or the granular object as it was sent.
func (s settings) policy() any {
	if json.Valid([]byte(s.ApprovalPolicy)) {
		return json.RawMessage(s.ApprovalPolicy)
	}
	return s.ApprovalPolicy
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// readPolicy reads approvalPolicy, a word or an object with the one member "granular".
func (p *params) readPolicy(to *string) {
	if inner := p.members["approvalPolicy"]; len(inner) > 0 && inner[0] == '{' {
		*to = string(inner)
		return
	}
	if v, ok := p.enum("approvalPolicy", approvalPolicies...); ok {
		*to = v
	}
}

// readThread reads what thread/start and thread/resume may override.
func (p *params) readThread(to *settings) {
	if v, ok := p.str("model"); ok {
		to.Model = v
	}
	p.readPolicy(&to.ApprovalPolicy)
	if v, ok := p.enum("approvalsReviewer", reviewers...); ok {
		to.Reviewer = v
	}
	if v, ok := p.enum("sandbox", sandboxModes...); ok {
		to.Sandbox = sandboxOf(v)
	}
}

// readTurn reads what turn/start and thread/settings/update may override. The settings of
// the collaboration mode win over model and effort.
func (p *params) readTurn(to *settings) {
	if v, ok := p.str("model"); ok {
		to.Model = v
	}
	if v, ok := p.str("effort"); ok {
		to.Effort = v
	}
	p.readPolicy(&to.ApprovalPolicy)
	if v, ok := p.enum("approvalsReviewer", reviewers...); ok {
		to.Reviewer = v
	}
	if policy := p.object("sandboxPolicy"); policy != nil {
		to.Sandbox = policy.readSandbox()
		p.inherit(policy)
	}
	if mode := p.object("collaborationMode"); mode != nil {
		mode.need("mode")
		name, _ := mode.enum("mode", modes...)
		inner := mode.object("settings")
		if inner == nil {
			mode.failed(mode.absent("settings", "struct Settings"))
		} else {
			to.Model = inner.need("model")
			to.Effort, _ = inner.str("reasoning_effort")
			inner.str("developer_instructions")
			mode.inherit(inner)
		}
		p.inherit(mode)
		if to.Mode = name; name != "plan" { // the others are older names of default
			to.Mode = "default"
		}
	}
}

func (p *params) inherit(inner *params) {
	if inner.err != nil {
		p.failed(inner.err)
	}
}

func (p *params) readSandbox() sandbox {
	p.need("type")
	var s sandbox
	s.Type, _ = p.enum("type", sandboxTypes...)
	s.ExcludeTmpVar, s.ExcludeTmp = p.flag("excludeTmpdirEnvVar"), p.flag("excludeSlashTmp")
	if s.Type != "externalSandbox" { // there it is an enum
		s.Network = p.flag("networkAccess")
	}
	if p.has("writableRoots") {
		if roots := p.list("writableRoots"); len(roots) > 0 {
			s.Roots = string(encode(roots))
		}
	}
	return s
}
