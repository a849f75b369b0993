package scripted

import (
	"encoding/json"
	"maps"
)

// thread is a conversation as the harness keeps it.
type thread struct {
	id, cwd   string
	ephemeral bool
	created   int64 // seconds
	updated   int64
	preview   string
	name      string
	parent    string
	settings  settings
	told      settings // what thread/settings/updated said last
	everTold  bool
	turns     []*pastTurn
	vars      map[string]string
	used      map[int]bool // turns of the script that are used up
	started   int          // number of turns begun
	total     tokens
	hasPlan   bool
	resumed   bool
	file      *history // nil until the first turn, and for ever without a home or when ephemeral

	running *run
	// unanswered are interrupts of a turn that had been interrupted before: 0.153.4 answers
	// them when the next turn is interrupted, if ever.
	unanswered []json.RawMessage
}

// pastTurn is a turn with the items it left.
type pastTurn struct {
	id, root  string
	items     []pastItem
	status    string
	err       any
	started   int64 // seconds
	completed int64
	duration  int64 // milliseconds
}

type pastItem struct {
	Turn      string          `json:"turn"`
	Item      json.RawMessage `json:"item"`
	Started   int64           `json:"started"` // milliseconds
	Completed int64           `json:"completed"`
}

type tokens struct {
	Input     int `json:"input"`
	Cached    int `json:"cached"`
	Output    int `json:"output"`
	Reasoning int `json:"reasoning"`
}

func (t *tokens) add(u tokens) {
	t.Input += u.Input
	t.Cached += u.Cached
	t.Output += u.Output
	t.Reasoning += u.Reasoning
}

func (t tokens) wire() object {
	return object{"totalTokens": t.Input + t.Output, "inputTokens": t.Input, "cachedInputTokens": t.Cached,
		"cacheWriteInputTokens": 0, "outputTokens": t.Output, "reasoningOutputTokens": t.Reasoning}
}

func (s *Server) wireThread(t *thread, turns []any) object {
	status := object{"type": "idle"}
	if t.running != nil {
		status = object{"type": "active", "activeFlags": []any{}}
	}
	var path any
	if !t.ephemeral && s.home != "" {
		path = s.historyPath(t.id)
	}
	mode := "paginated"
	if t.ephemeral && s.old {
		mode = "legacy"
	}
	o := object{
		"id": t.id, "extra": nil, "sessionId": t.id, "forkedFromId": nil, "parentThreadId": orNull(t.parent), "preview": t.preview,
		"ephemeral": t.ephemeral, "section": nil, "sectionEnteredAt": nil, "projectId": nil, "historyMode": mode,
		"modelProvider": "scripted", "model": t.settings.Model, "reasoningEffort": orNull(t.settings.Effort),
		"createdAt": t.created, "updatedAt": t.updated, "recencyAt": t.updated, "status": status, "path": path, "cwd": t.cwd,
		"cliVersion": s.version, "source": "vscode", "canAcceptDirectInput": true, "threadSource": nil, "agentNickname": nil,
		"agentRole": nil, "gitInfo": nil, "name": orNull(t.name), "turns": turns,
	}
	if !s.old {
		o["environments"] = s.environments(t)
		o["originator"] = s.client
		o["attachedToThreadId"], o["daybreakEnabled"] = nil, nil
	}
	return o
}

func (s *Server) environments(t *thread) []any {
	return []any{object{"environmentId": "local", "cwd": t.cwd, "runtimeWorkspaceRoots": []any{t.cwd}}}
}

// wireStart is the result of thread/start, and most of that of thread/resume.
func (s *Server) wireStart(t *thread, turns []any) object {
	o := object{
		"thread": s.wireThread(t, turns), "model": t.settings.Model, "modelProvider": "scripted", "serviceTier": nil, "cwd": t.cwd,
		"runtimeWorkspaceRoots": []any{t.cwd}, "instructionSources": []any{}, "approvalPolicy": t.settings.policy(),
		"approvalsReviewer": t.settings.Reviewer, "sandbox": t.settings.Sandbox.wire(), "activePermissionProfile": nil,
		"reasoningEffort": orNull(t.settings.Effort), "multiAgentMode": "explicitRequestOnly",
	}
	if !s.old {
		o["disabledPluginIds"] = []any{}
	}
	return o
}

func (s *Server) wireSettings(t *thread) object {
	o := object{
		"cwd": t.cwd, "approvalPolicy": t.settings.policy(), "approvalsReviewer": t.settings.Reviewer, "sandboxPolicy": t.settings.Sandbox.wire(),
		"activePermissionProfile": nil, "model": t.settings.Model, "modelProvider": "scripted", "serviceTier": nil,
		"effort": orNull(t.settings.Effort), "summary": nil, "collaborationMode": t.settings.modeSettings(),
		"multiAgentMode": "explicitRequestOnly", "personality": nil,
	}
	if s.old {
		o["personality"] = "pragmatic"
	} else {
		o["disabledPluginIds"] = []any{}
		o["environments"] = s.environments(t)
	}
	return o
}

// wireTurn is a turn with the items the view asks for: "full", "summary" (what the user
// said first and the agent last) or "notLoaded".
func (s *Server) wireTurn(t *pastTurn, view string) object {
	items := []any{}
	switch view {
	case "full":
		for _, it := range t.items {
			items = append(items, it.Item)
		}
	case "summary":
		first, last := -1, -1
		for i, it := range t.items {
			switch itemType(it.Item) {
			case "userMessage":
				if first < 0 {
					first = i
				}
			case "agentMessage":
				last = i
			}
		}
		for _, i := range []int{first, last} {
			if i >= 0 {
				items = append(items, t.items[i].Item)
			}
		}
	}
	o := object{"id": t.id, "items": items, "itemsView": view, "status": t.status, "error": t.err, "startedAt": zeroNull(t.started),
		"completedAt": zeroNull(t.completed), "durationMs": nil}
	if t.completed != 0 {
		o["durationMs"] = t.duration
	}
	if !s.old {
		o["rootTurnId"] = t.root
	}
	return o
}

func zeroNull(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

func itemType(raw json.RawMessage) string {
	var it struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(raw, &it) != nil {
		return ""
	}
	return it.Type
}

// values are what texts and conditions can speak of.
func (t *thread) values() map[string]string {
	v := maps.Clone(t.vars)
	if v == nil {
		v = map[string]string{}
	}
	v["mode"] = t.settings.Mode
	if v["mode"] == "" {
		v["mode"] = "default"
	}
	v["model"], v["effort"], v["cwd"] = t.settings.Model, t.settings.Effort, t.cwd
	return v
}

// state is what conditions look at, for a message in the n-th turn.
func (t *thread) state(text string, n int) state {
	return state{values: t.values(), policy: t.settings.ApprovalPolicy, sandbox: t.settings.Sandbox.mode(), text: text,
		plan: t.hasPlan, resumed: t.resumed, turn: n}
}
