// Package grok is the binding for Grok: the shared reducer of package acp with Grok's
// dialect. Facts noted as seen were recorded on 1.0.41.
//
// Grok's modes are not listed anywhere; session/set_mode takes them all the same, and
// current_mode_update is the evidence. Permission is a matter of the launch, so the
// agent is started without a flag and asks, and the host stands in by answering.
package grok

import (
	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/abi/jsonwire"
	"github.com/aoagents/ao-host/bindings-src/acp"
	"github.com/aoagents/ao-host/bindings-src/lists"
)

// New returns a reducer that waits for its first open event.
func New() *acp.Reducer { return acp.New(dialect) }

// Native modes (seen).
const (
	modeDefault = "default"
	modePlan    = "plan"
	modeAsk     = "ask"
)

var dialect = acp.Dialect{
	Title:      "Grok",
	SignIn:     "run \"grok login\", or set XAI_API_KEY, and start the session again.",
	AuthMethod: authMethod,
	Modes: acp.Modes{
		Hidden: []abi.ModeChoice{
			{ID: modePlan, Name: "Plan", Description: "Explores and proposes a plan. Edits are refused; commands ask."},
			{ID: modeDefault},
			{ID: modeAsk, Name: "Ask", Description: "Answers questions."},
		},
		Initial:  modeDefault,
		Proves:   true,
		Planning: modePlan,
		// Edits fail without asking, commands ask (seen).
		EnforcedBy: abi.EnforcedByHarness,
		Execution:  abi.ModeChoice{ID: modeDefault, Name: "Execute", Description: "Does the work under the chosen permission."},
		Permissions: []acp.Permission{
			{Permission: abi.PermissionDefault, Support: abi.SupportNative, Mode: modeDefault, Describe: "started without a permission flag: asks before changes"},
			{Permission: abi.PermissionAcceptEdits, Support: abi.SupportStandIn, Mode: modeDefault, Describe: "the host allows edits one by one; the rest is asked"},
			{Permission: abi.PermissionAuto, Support: abi.SupportNone, Mode: modeDefault, InsteadOf: "Grok has no automatic approval of its own; \"default\" is in force, so it asks."},
			{Permission: abi.PermissionBypass, Support: abi.SupportStandIn, Mode: modeDefault, Describe: "the host allows tools one by one; questions, forms, URLs and reviews are asked"},
		},
	},
	ModelOption:  acp.EnumSessionConfigOptionCategoryModel,
	EffortMeta:   effortMeta,
	PromptMeta:   promptMeta,
	Identity:     identity,
	Initialized:  initialized,
	SessionMeta:  sessionMeta,
	Tool:         tool,
	Notification: notification,
	Request:      request,
	Reply:        reply,
}

// Ways to authenticate (seen). The browser's is never chosen.
const (
	authKey    = "xai.api_key"
	authCached = "cached_token"
)

// factKey is the manifest's name of the fact that an API key is set.
const factKey = "api_key"

// authMethod takes what the machine already has: a key first, else what an earlier
// sign-in left.
func authMethod(offered []acp.AuthMethod, fact func(string) bool) string {
	for _, wanted := range []string{authKey, authCached} {
		if wanted == authKey && !fact(factKey) {
			continue
		}
		for _, a := range offered {
			if a.ID == wanted {
				return a.ID
			}
		}
	}
	return ""
}

func initialized(result []byte) string {
	return acp.Text(acp.Member(result, acp.FieldMeta), "agentVersion")
}

// promptMeta: Grok gives the prompt's id back in every update of its turn (seen).
func promptMeta(dst []byte, clientID string) []byte {
	return append(jsonwire.AppendField(append(dst, '{'), acp.FieldPromptID, clientID), '}')
}

func identity(meta []byte) string { return acp.Text(meta, acp.FieldPromptID) }

// effortMeta: without a config option the effort goes along with the model.
func effortMeta(dst []byte, effort string) []byte {
	return append(jsonwire.AppendField(append(dst, '{'), acp.FieldReasoningEffort, effort), '}')
}

// sessionMeta reads the efforts out of Grok's own session config, whose category
// "mode" means effort.
func sessionMeta(meta []byte) (efforts []abi.Choice, current string, left int) {
	var d jsonwire.Decoder
	b := lists.Bound{Keeps: true}
	d.Reset(acp.Member(acp.Member(meta, "x.ai/sessionConfig"), acp.FieldOptions))
	b.Each(&d, func(d *jsonwire.Decoder) {
		var c abi.Choice
		category := ""
		selected := false
		acp.EachKey(d, func(k []byte, d *jsonwire.Decoder) {
			switch string(k) {
			case acp.FieldID:
				c.ID = d.String()
			case acp.FieldLabel:
				c.Name = d.String()
			case acp.FieldCategory:
				category = d.String()
			case "selected":
				selected = d.Bool()
			default:
				d.Skip()
			}
		})
		if category != acp.EnumSessionConfigOptionCategoryMode || c.ID == "" {
			return
		}
		efforts = append(efforts, c)
		if selected {
			current = c.ID
		}
	})
	return efforts, current, b.Left
}

func tool(meta []byte) (name, parent string) {
	return acp.Text(acp.Member(meta, "x.ai/tool"), acp.FieldName), ""
}

// Kinds of updates beside the protocol (seen).
const (
	updateTurnCompleted = "turn_completed"
	updateRetry         = "retry_state"
	updateSummary       = "session_summary_generated"
	updateResolved      = "interaction_resolved"
)

// notification routes what comes beside the protocol. A restored session's history
// comes by another name than the live updates.
func notification(r *acp.Reducer, m *abi.Message, out *guest.Effects) {
	method, params := unwrap(m.Method, m.Params)
	switch method {
	case acp.MethodXAiSessionNotification, acp.MethodXAiSessionUpdate:
		update(r, params, m.Replay, out)
	case acp.MethodXAiSessionPromptComplete:
		if !m.Replay && r.OfSession(acp.Text(params, acp.FieldSessionID)) {
			r.PromptEnded(acp.Text(params, acp.FieldPromptID), stopReason(acp.Text(params, acp.FieldStopReason)), acp.Text(params, acp.FieldAgentResult), out)
		}
	case acp.MethodXAiQueueChanged:
		if !m.Replay && r.OfSession(acp.Text(params, acp.FieldSessionID)) {
			r.PromptRuns(acp.Text(params, acp.FieldRunningPromptID), out)
		}
	}
}

// update handles the updates that Grok sends beside session/update.
func update(r *acp.Reducer, params []byte, replay bool, out *guest.Effects) {
	if !r.OfSession(acp.Text(params, acp.FieldSessionID)) {
		return
	}
	u := acp.Member(params, acp.FieldUpdate)
	prompt := acp.Text(u, acp.FieldPromptIDSnake)
	kind := acp.Text(u, acp.FieldSessionUpdate)
	if replay {
		if kind == updateTurnCompleted {
			r.Proved(prompt)
		}
		return
	}
	switch kind {
	case updateTurnCompleted:
		r.PromptEnded(prompt, stopReason(acp.Text(u, "stop_reason")), acp.Text(u, "agent_result"), out)
	case updateRetry:
		message := acp.Text(u, "reason")
		if message == "" {
			message = acp.Text(u, acp.FieldMessage)
		}
		r.Retrying(message, out)
	case updateSummary:
		r.Named(acp.Text(u, "session_summary"), out)
	case updateResolved:
		r.ToolSettled(acp.Text(u, "tool_call_id"), updateResolved, out)
	}
}

// stopReason: whatever the protocol has no word for is an error of the provider, such
// as "rate_limit" (seen).
func stopReason(native string) string {
	switch native {
	case acp.EnumStopReasonEndTurn, acp.EnumStopReasonCancelled, acp.EnumStopReasonMaxTokens,
		acp.EnumStopReasonMaxTurnRequests, acp.EnumStopReasonRefusal, "":
		return native
	}
	return acp.EnumIdleStateUpdateStopReasonError
}

// unwrap takes the inner method and parameters of a message that Grok's leader passed
// on, and writes a name without the leading underscore with one.
func unwrap(method string, params []byte) (string, []byte) {
	if acp.Text(params, acp.FieldSessionID) == "" {
		if inner, p := acp.Text(params, fieldMethod), acp.Member(params, acp.FieldParams); inner != "" && len(p) > 0 && p[0] == '{' {
			method, params = inner, p
		}
	}
	if method != "" && method[0] != '_' {
		method = "_" + method
	}
	return method, params
}

const fieldMethod = "method"
