package names

import (
	"fmt"

	"github.com/aoagents/ao-host/schemas/bundled"
)

// File is one generated names file.
type File struct {
	// Path is relative to the root of the module, with slashes.
	Path string
	// Provider is the harness id whose bundles are read.
	Provider string
	Config   Config
}

// Files are all names files of this repository.
var Files = []File{{
	Path:     "bindings-src/codex/names_gen.go",
	Provider: "codex",
	Config: Config{
		Package: "codex",
		Methods: []string{
			"initialize", "initialized",
			"model/list", "collaborationMode/list", "account/read",
			"thread/start", "thread/resume", "thread/read", "thread/items/list", "thread/turns/list", "thread/fork",
			"thread/loaded/list", "thread/unsubscribe",
			"turn/start", "turn/steer", "turn/interrupt",
			// Requests of the server; currentTime/read is gone in 0.171.0.
			"item/*", "applyPatchApproval", "execCommandApproval", "mcpServer/elicitation/request",
			"account/chatgptAuthTokens/refresh", "attestation/generate", "currentTime/read",
			// Notifications of the server.
			"error", "warning", "guardianWarning", "configWarning", "deprecationNotice", "serverRequest/resolved",
			"thread/started", "thread/status/changed", "thread/closed", "thread/archived", "thread/unarchived", "thread/deleted",
			"thread/reverted", "thread/name/updated", "thread/settings/updated", "thread/tokenUsage/updated", "thread/compacted",
			"thread/goal/updated", "thread/goal/cleared", "thread/queue/changed",
			"turn/started", "turn/completed", "turn/diff/updated", "turn/plan/updated", "turn/moderationMetadata",
			"hook/started", "hook/completed", "autoApprovalReview/*",
			"model/rerouted", "model/verification", "model/safetyBuffering/updated",
			"mcpServer/oauthLogin/completed", "mcpServer/startupStatus/updated",
			"account/updated", "account/rateLimits/updated", "account/login/completed",
			"modelProvider/authRecoveryStarted", "modelProvider/authRecoveryCompleted",
			"remoteControl/status/changed", "skills/changed",
		},
	},
}}

// Generate returns the text of the file.
func (f File) Generate() ([]byte, error) {
	bundles, err := bundled.All(f.Provider)
	if err != nil {
		return nil, err
	}
	text, err := Generate(f.Config, bundles)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	return text, nil
}
