package names

import (
	"fmt"

	"github.com/aoagents/ao-host/schemas"
	"github.com/aoagents/ao-host/schemas/bundled"
)

// File is one generated names file.
type File struct {
	// Path is relative to the root of the module, with slashes.
	Path string
	// Providers are those whose bundles are read.
	Providers []string
	Config    Config
}

// Files are all names files of this repository.
var Files = []File{{
	Path:      "bindings-src/codex/names_gen.go",
	Providers: []string{"codex"},
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
}, {
	Path:      "bindings-src/acp/names_gen.go",
	Providers: []string{"acp", "claude", "grok", "kimchi"},
	Config: Config{
		Package: "acp",
		Methods: []string{
			"initialize", "authenticate", "logout", "auth/*",
			"session/new", "session/load", "session/resume", "session/list", "session/close", "session/delete", "session/fork",
			"session/prompt", "session/cancel", "session/set_mode", "session/set_config_option", "session/set_title",
			"session/status", "session/update", "$/cancel_request",
			// Requests of the agent, the last of them to be refused.
			"session/request_permission", "elicitation/*", "fs/*", "terminal/*", "mcp/message",
			// Observed, and in no published schema. _auth/status_update is left out: its name
			// and members are those of auth/status_update.
			"session/set_model", "_x.ai/*", "_kimchi.dev/*",
		},
		// What older agents give beside config options, and what Grok puts into _meta.
		Members: []string{"models", "reasoningEffort", "agentVersion", "x.ai/sessionConfig", "x.ai/tool"},
	},
}}

// Generate returns the text of the file.
func (f File) Generate() ([]byte, error) {
	var bundles []schemas.Bundle
	for _, p := range f.Providers {
		all, err := bundled.All(p)
		if err != nil {
			return nil, err
		}
		bundles = append(bundles, all...)
	}
	text, err := Generate(f.Config, bundles)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	return text, nil
}
