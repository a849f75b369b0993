package codex

import (
	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/jsonwire"
)

// permissions in the order in which a stance is recognised: two can be the same
// on a machine whose baseline equals one of the others.
var permissions = [...]abi.Permission{
	abi.PermissionDefault, abi.PermissionAcceptEdits, abi.PermissionAuto, abi.PermissionBypass,
}

// nativePermission is the triple that puts a permission in force; it is
// independent of the mode (rule 6, two axes). ok is false for an unknown one.
func (r *Reducer) nativePermission(p abi.Permission) (s stance, ok bool) {
	switch p {
	case abi.PermissionDefault, "":
		s = stance{policy: r.baseline.policy, reviewer: r.baseline.reviewer, sandbox: r.baseline.sandbox}
		// A server that told nothing gets the values it documents as defaults.
		if s.policy == "" {
			s.policy = quoted(EnumAskForApprovalOnRequest)
		}
		if s.reviewer == "" {
			s.reviewer = EnumApprovalsReviewerUser
		}
		if s.sandbox == "" {
			s.sandbox = readOnlySandbox
		}
		return s, true
	case abi.PermissionAcceptEdits:
		return stance{policy: quoted(EnumAskForApprovalOnRequest), reviewer: EnumApprovalsReviewerUser, sandbox: r.workspaceSandbox()}, true
	case abi.PermissionAuto:
		return stance{policy: quoted(EnumAskForApprovalOnRequest), reviewer: EnumApprovalsReviewerAutoReview, sandbox: r.workspaceSandbox()}, true
	case abi.PermissionBypass:
		return stance{policy: quoted(EnumAskForApprovalNever), reviewer: EnumApprovalsReviewerUser, sandbox: fullAccessSandbox}, true
	}
	return stance{}, false
}

// Sandbox policies as turn/start takes them, with every member spelled out.
const (
	readOnlySandbox   = `{"` + FieldType + `":"` + EnumSandboxPolicyTypeReadOnly + `","` + FieldNetworkAccess + `":false}`
	fullAccessSandbox = `{"` + FieldType + `":"` + EnumSandboxPolicyTypeDangerFullAccess + `"}`
	workspaceSandbox  = `{"` + FieldType + `":"` + EnumSandboxPolicyTypeWorkspaceWrite + `","` + FieldWritableRoots + `":[],"` +
		FieldNetworkAccess + `":false,"` + FieldExcludeTmpdirEnvVar + `":false,"` + FieldExcludeSlashTmp + `":false}`
)

func quoted(s string) string { return `"` + s + `"` }

// workspaceSandbox keeps what the user configured for workspace-write: extra
// writable roots and network access are theirs, not ours to drop.
func (r *Reducer) workspaceSandbox() string {
	if readSandbox(r.baseline.sandbox).kind == EnumSandboxPolicyTypeWorkspaceWrite {
		return r.baseline.sandbox
	}
	return workspaceSandbox
}

// permissionOf is the permission whose triple s is, or "". Where several fit it
// is the one that was asked for.
func (r *Reducer) permissionOf(s *stance) abi.Permission {
	if s.policy == "" || s.sandbox == "" {
		return ""
	}
	match := func(p abi.Permission) bool {
		n, ok := r.nativePermission(p)
		return ok && n.policy == s.policy && n.reviewer == s.reviewer && readSandbox(n.sandbox) == readSandbox(s.sandbox)
	}
	if r.lastSent != "" && match(r.lastSent) {
		return r.lastSent
	}
	for _, p := range permissions {
		if match(p) {
			return p
		}
	}
	return ""
}

// sandbox is a sandbox policy in a form that can be compared: an omitted member
// has the provider's default.
type sandbox struct {
	kind, roots, network string
	noTmpdir, noSlashTmp bool
}

func readSandbox(raw string) (s sandbox) {
	var d jsonwire.Decoder
	d.Reset([]byte(raw))
	s.network = "false"
	eachKey(&d, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldType:
			s.kind = d.String()
		case FieldWritableRoots:
			if s.roots = string(d.Raw()); s.roots == "[]" {
				s.roots = ""
			}
		case FieldNetworkAccess:
			s.network = string(d.Raw())
		case FieldExcludeTmpdirEnvVar:
			s.noTmpdir = d.Bool()
		case FieldExcludeSlashTmp:
			s.noSlashTmp = d.Bool()
		default:
			d.Skip()
		}
	})
	return s
}

// permissionChoices describes the four permissions; Codex has all natively.
func (r *Reducer) permissionChoices() []abi.PermissionChoice {
	var choices []abi.PermissionChoice
	for _, p := range permissions {
		n, _ := r.nativePermission(p)
		choices = append(choices, abi.PermissionChoice{Permission: p, Support: abi.SupportNative, Native: n.describe()})
	}
	return choices
}

// describe says in the provider's words what a triple means.
func (s *stance) describe() string {
	b := []byte("approvals ")
	var d jsonwire.Decoder
	d.Reset([]byte(s.policy))
	if d.Kind() == jsonwire.String {
		b = append(b, d.Bytes()...)
	} else {
		b = append(b, FieldGranular...)
	}
	if s.reviewer != "" {
		b = append(b, ", reviewed by "...)
		b = append(b, s.reviewer...)
	}
	box := readSandbox(s.sandbox)
	b = append(b, ", sandbox "...)
	b = append(b, box.kind...)
	if box.network == "true" || box.network == quoted(EnumNetworkAccessEnabled) {
		b = append(b, " with network"...)
	}
	if box.roots != "" {
		b = append(b, ", also writes to "...)
		b = append(b, box.roots...)
	}
	return string(b)
}
