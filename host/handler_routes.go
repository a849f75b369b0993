package host

import (
	"context"
	"net/http"
	"reflect"
	"regexp"
	"slices"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/api"
)

// KeyUse says what a route does with an Idempotency-Key header.
type KeyUse string

// The uses.
const (
	// KeyNone: the route changes nothing durable.
	KeyNone KeyUse = ""
	// KeyClientID: the key is the client id of what is made, for good.
	KeyClientID KeyUse = "client-id"
	// KeyRecorded: the key is remembered for 24 hours; a repeated request changes
	// nothing and is answered with the present state.
	KeyRecorded KeyUse = "recorded"
)

// The media types of results.
const (
	MediaJSON   = "application/json"
	MediaEvents = "text/event-stream"
	MediaLines  = "application/x-ndjson"
)

// Route is one operation of the HTTP API.
type Route struct {
	// ID is the name of the operation, Calls the method of Host behind it; where
	// there is none, Doc says what it does.
	ID, Calls, Doc string
	// Method and Path are as http.ServeMux takes them.
	Method, Path string
	// Query are the names of whole-number parameters, all optional.
	Query []string
	// Body is the type of the JSON body, nil for none; Required its members that
	// must be there. With none required the body may be left out.
	Body     reflect.Type
	Required []string
	// Status and Media are those of a success; Result is the type of the JSON
	// result, or of one event or line of a stream.
	Status int
	Media  string
	Result reflect.Type
	Key    KeyUse

	params  []string
	private bool
	attach  bool
	// ends: it is the end of the conversation.
	ends  bool
	serve func(*server, *Route, http.ResponseWriter, *http.Request) error
}

// limit bounds the body of a request in bytes. Text may be escaped and bytes come
// as base64, so it is higher than what the host then accepts.
func (rt *Route) limit(h *Host) int64 {
	n := 2*int64(h.cfg.MaxMessage) + 1<<20
	if rt.attach {
		n += maxAttachments * int64(h.cfg.MaxAttachment) / 3 * 4
	}
	return n
}

// maxAttachments is how many attachments of the largest size fit into a request.
const maxAttachments = 4

// List is a result that is a list. It is an object, so that it can grow.
type List[T any] struct {
	Items []T `json:"items"`
}

func list[T any](items []T, err error) (List[T], error) {
	return List[T]{orEmpty(items)}, err
}

func orEmpty[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

// SettingsChange changes the remembered settings.
type SettingsChange struct {
	// Revision is the one that was read; another one is refused.
	Revision int64         `json:"revision"`
	Patch    SettingsPatch `json:"patch"`
}

// ImplementRequest approves a plan.
type ImplementRequest struct {
	// Revision is the revision that was read; another one is refused.
	Revision int64  `json:"revision"`
	ClientID string `json:"client_id,omitempty"`
}

// ChangesRequest asks for changes of a plan.
type ChangesRequest struct {
	// Revision is the revision that was read; another one is refused.
	Revision int64  `json:"revision"`
	Feedback string `json:"feedback"`
	ClientID string `json:"client_id,omitempty"`
}

// InstalledBinding is a binding with the reason why it cannot be used, if so.
type InstalledBinding struct {
	BindingInfo
	Problem *Problem `json:"problem,omitempty"`
}

// VersionInfo names the versions of the host.
type VersionInfo struct {
	// Version is that of the module, ABI that of the contract with bindings.
	Version string `json:"version"`
	ABI     string `json:"abi"`
}

func (n *NewConversation) clientKey() *string  { return &n.ID }
func (m *Message) clientKey() *string          { return &m.ClientID }
func (r *RetryRequest) clientKey() *string     { return &r.ClientID }
func (r *ImplementRequest) clientKey() *string { return &r.ClientID }
func (r *ChangesRequest) clientKey() *string   { return &r.ClientID }

func installed(b BindingInfo) InstalledBinding {
	b.Manifest = withLists(b.Manifest)
	out := InstalledBinding{BindingInfo: b}
	if b.Err != nil {
		p := ProblemOf(b.Err)
		out.Problem = &p
	}
	return out
}

// withLists makes the required lists of a manifest empty where there are none, as
// of a module that cannot be read: null is no list.
func withLists(m abi.Manifest) abi.Manifest {
	m.Calls, m.Launch.Argv, m.Provider.Versions = orEmpty(m.Calls), orEmpty(m.Launch.Argv), orEmpty(m.Provider.Versions)
	m.Vocabulary.Permissions = orEmpty(m.Vocabulary.Permissions)
	return m
}

type none struct{}

func (c *apiCall) conversation() string { return c.PathValue("conversation") }

// reads makes a route that reads.
func reads[R any](id, calls, path string, do func(ctx context.Context, c *apiCall) (R, error)) Route {
	return Route{
		ID: id, Calls: calls, Method: http.MethodGet, Path: path, Status: http.StatusOK, Media: MediaJSON, Result: reflect.TypeFor[R](),
		serve: serveJSON(func(ctx context.Context, c *apiCall, _ *none) (R, error) { return do(ctx, c) }, nil),
	}
}

// changes makes a route that changes something. A nil again means that the host
// itself recognises a repeated request.
func changes[B, R any](id, calls, path string, required []string, do func(ctx context.Context, c *apiCall, body *B) (R, error), again func(ctx context.Context, c *apiCall) (R, error)) Route {
	rt := Route{
		ID: id, Calls: calls, Method: http.MethodPost, Path: path, Status: http.StatusOK, Media: MediaJSON, Result: reflect.TypeFor[R](),
		Body: reflect.TypeFor[B](), Required: required, Key: KeyRecorded, serve: serveJSON(do, again),
	}
	if rt.Body == reflect.TypeFor[none]() {
		rt.Body = nil
	}
	if again == nil {
		rt.Key = KeyClientID
	}
	return rt
}

// creates marks a route whose success made something new.
func (rt Route) creates() Route {
	rt.Status = http.StatusCreated
	return rt
}

// attaches marks a route whose body may carry images and files.
func (rt Route) attaches() Route {
	rt.attach = true
	return rt
}

// asEnd marks the route that ends a conversation.
func (rt Route) asEnd() Route {
	rt.ends = true
	return rt
}

// says documents a route that no method of Host stands behind.
func (rt Route) says(doc string) Route {
	rt.Doc = doc
	return rt
}

// secret marks a route whose body may hold a secret.
func (rt Route) secret() Route {
	rt.private = true
	return rt
}

func controlsNow(ctx context.Context, c *apiCall) (Controls, error) {
	return c.h.Controls(ctx, c.conversation())
}

func logLevelNow(ctx context.Context, c *apiCall) (LogLevel, error) {
	return c.h.LogLevel(ctx, c.conversation())
}

var pathParam = regexp.MustCompile(`\{(\w+)\}`)

// Params are the names of the parameters in the path, in their order.
func (rt *Route) Params() []string { return slices.Clone(rt.params) }

// Routes lists the operations of the HTTP API.
func Routes() []Route {
	routes := slices.Concat(hostRoutes(), conversationRoutes(), turnRoutes(), askRoutes())
	for i := range routes {
		for _, m := range pathParam.FindAllStringSubmatch(routes[i].Path, -1) {
			routes[i].params = append(routes[i].params, m[1])
		}
	}
	return routes
}

const conversationPath = "/v1/conversations/{conversation}"

func hostRoutes() []Route {
	diagnose := changes("diagnose", "Diagnose", "/v1/diagnose", nil, func(ctx context.Context, c *apiCall, b *DiagnoseOptions) (Diagnosis, error) {
		return c.h.Diagnose(ctx, *b)
	}, nil)
	// Like the probe it changes nothing durable, and whoever leaves ends it.
	diagnose.Key = KeyNone
	return []Route{
		reads("getVersion", "", "/v1/version", func(context.Context, *apiCall) (VersionInfo, error) {
			return VersionInfo{Version: Version(), ABI: abi.Version}, nil
		}).says("Names the versions of the host and of its contract with bindings."),
		reads("listCodes", "", "/v1/codes", func(context.Context, *apiCall) (List[CodeInfo], error) {
			return list(Codes(), nil)
		}).says("Lists every error code with the sentence that says what to do, in alphabetical order."),
		{
			ID: "getOpenAPI", Doc: "Returns the OpenAPI 3.1 document of this API.", Method: http.MethodGet, Path: "/v1/openapi.json", Status: http.StatusOK, Media: MediaJSON, Result: reflect.TypeFor[abi.Raw](),
			serve: func(s *server, _ *Route, w http.ResponseWriter, _ *http.Request) error {
				s.write(w, http.StatusOK, MediaJSON, []byte(api.OpenAPI))
				return nil
			},
		},
		diagnose,
		reads("listBindings", "Bindings", "/v1/bindings", func(ctx context.Context, c *apiCall) (List[InstalledBinding], error) {
			all, err := c.h.Bindings(ctx)
			var out []InstalledBinding
			for _, b := range all {
				out = append(out, installed(b))
			}
			return list(out, err)
		}),
		changes("allowBinding", "AllowBinding", "/v1/bindings/{name}/allow", nil, func(ctx context.Context, c *apiCall, _ *none) (InstalledBinding, error) {
			b, err := c.h.AllowBinding(ctx, c.PathValue("name"))
			return installed(b), err
		}, func(ctx context.Context, c *apiCall) (InstalledBinding, error) {
			// Not again: another module may wait under this name by now.
			b, err := c.h.named(ctx, c.PathValue("name"))
			return installed(b), err
		}),
		reads("getManifest", "Manifest", "/v1/harnesses/{harness}/manifest", func(ctx context.Context, c *apiCall) (abi.Manifest, error) {
			m, err := c.h.Manifest(ctx, c.PathValue("harness"))
			return withLists(m), err
		}),
	}
}

func conversationRoutes() []Route {
	probe := changes("probe", "Probe", conversationPath+"/probe", nil, func(ctx context.Context, c *apiCall, _ *none) (Controls, error) {
		return c.h.Probe(ctx, c.conversation())
	}, controlsNow)
	// Starting a session twice starts one, and it may take as long as its client
	// waits; nothing of it is durable.
	probe.Key = KeyNone
	change := changes("changeSettings", "ConfigureNextTurn", conversationPath+"/settings", []string{"revision", "patch"}, func(ctx context.Context, c *apiCall, b *SettingsChange) (Controls, error) {
		return c.h.ConfigureNextTurn(ctx, c.conversation(), b.Revision, b.Patch)
	}, controlsNow)
	change.Method = http.MethodPatch
	return []Route{
		reads("listConversations", "Conversations", "/v1/conversations", func(ctx context.Context, c *apiCall) (List[Conversation], error) {
			return list(c.h.Conversations(ctx))
		}),
		changes("createConversation", "Create", "/v1/conversations", []string{"harness", "cwd"}, func(ctx context.Context, c *apiCall, b *NewConversation) (Conversation, error) {
			return c.h.Create(ctx, *b)
		}, nil).creates(),
		reads("getConversation", "Conversation", conversationPath, func(ctx context.Context, c *apiCall) (Conversation, error) {
			return c.h.Conversation(ctx, c.conversation())
		}),
		changes("relocateConversation", "Relocate", conversationPath+"/relocate", []string{"cwd"}, func(ctx context.Context, c *apiCall, b *Relocation) (Conversation, error) {
			return c.h.Relocate(ctx, c.conversation(), b.Cwd)
		}, func(ctx context.Context, c *apiCall) (Conversation, error) {
			return c.h.Conversation(ctx, c.conversation())
		}),
		changes("deleteConversation", "Delete", conversationPath+"/delete", nil, func(ctx context.Context, c *apiCall, b *DeleteRequest) (Deleted, error) {
			return Deleted{c.conversation()}, c.h.delete(ctx, c.conversation(), *b, c.record)
		}, func(ctx context.Context, c *apiCall) (Deleted, error) {
			return Deleted{c.conversation()}, c.h.removed(ctx, c.conversation())
		}).asEnd(),
		changes("pruneJournal", "Prune", conversationPath+"/prune", nil, func(ctx context.Context, c *apiCall, b *PruneRequest) (Pruned, error) {
			return c.h.Prune(ctx, c.conversation(), *b)
		}, func(ctx context.Context, c *apiCall) (Pruned, error) {
			now, err := c.h.Conversation(ctx, c.conversation())
			return Pruned{now.JournalFloor}, err
		}),
		reads("getControls", "Controls", conversationPath+"/controls", controlsNow),
		change,
		probe,
		changes("stop", "Stop", conversationPath+"/stop", nil, func(ctx context.Context, c *apiCall, b *StopOptions) (Controls, error) {
			return c.h.Stop(ctx, c.conversation(), *b)
		}, controlsNow),
		changes("resumeQueue", "ResumeQueue", conversationPath+"/queue/resume", nil, func(ctx context.Context, c *apiCall, _ *none) (Controls, error) {
			return c.h.ResumeQueue(ctx, c.conversation())
		}, controlsNow),
		reads("getLogLevel", "LogLevel", conversationPath+"/log-level", logLevelNow),
		changes("setLogLevel", "SetLogLevel", conversationPath+"/log-level", []string{"level"}, func(ctx context.Context, c *apiCall, b *LogLevel) (LogLevel, error) {
			return c.h.SetLogLevel(ctx, c.conversation(), *b)
		}, logLevelNow),
		{
			ID: "streamEvents", Calls: "Events", Method: http.MethodGet, Path: conversationPath + "/events", Query: []string{"after"},
			Status: http.StatusOK, Media: MediaEvents, Result: reflect.TypeFor[Event](), serve: serveEvents,
		},
		{
			ID: "exportConversation", Calls: "Export", Method: http.MethodGet, Path: conversationPath + "/export",
			Status: http.StatusOK, Media: MediaLines, Result: reflect.TypeFor[Event](), serve: serveExport,
		},
	}
}

func turnRoutes() []Route {
	turnNow := func(ctx context.Context, c *apiCall) (Turn, error) {
		return c.h.Turn(ctx, c.conversation(), c.PathValue("turn"))
	}
	return []Route{
		reads("listTurns", "Turns", conversationPath+"/turns", func(ctx context.Context, c *apiCall) (List[Turn], error) {
			return list(c.h.Turns(ctx, c.conversation()))
		}),
		reads("getTurn", "Turn", conversationPath+"/turns/{turn}", turnNow),
		changes("sendMessage", "Send", conversationPath+"/turns", []string{"content"}, func(ctx context.Context, c *apiCall, b *Message) (Turn, error) {
			return c.h.Send(ctx, c.conversation(), *b)
		}, nil).creates().attaches(),
		changes("steer", "Steer", conversationPath+"/steer", []string{"content"}, func(ctx context.Context, c *apiCall, b *Message) (Turn, error) {
			return c.h.Steer(ctx, c.conversation(), *b)
		}, nil).creates().attaches(),
		changes("retryTurn", "Retry", conversationPath+"/turns/{turn}/retry", nil, func(ctx context.Context, c *apiCall, b *RetryRequest) (Turn, error) {
			return c.h.Retry(ctx, c.conversation(), c.PathValue("turn"), *b)
		}, nil).creates(),
		changes("cancelQueued", "CancelQueued", conversationPath+"/turns/{turn}/cancel", nil, func(ctx context.Context, c *apiCall, b *QueuedCancel) (Turn, error) {
			return c.h.CancelQueued(ctx, c.conversation(), c.PathValue("turn"), *b)
		}, turnNow),
		changes("editQueued", "EditQueued", conversationPath+"/turns/{turn}/edit", []string{"version", "content"}, func(ctx context.Context, c *apiCall, b *QueuedEdit) (Turn, error) {
			return c.h.EditQueued(ctx, c.conversation(), c.PathValue("turn"), *b)
		}, turnNow).attaches(),
		changes("moveQueued", "MoveQueued", conversationPath+"/turns/{turn}/move", []string{"version"}, func(ctx context.Context, c *apiCall, b *QueuedMove) (Turn, error) {
			return c.h.MoveQueued(ctx, c.conversation(), c.PathValue("turn"), *b)
		}, turnNow),
	}
}

func askRoutes() []Route {
	return []Route{
		reads("listInputs", "Inputs", conversationPath+"/inputs", func(ctx context.Context, c *apiCall) (List[Interaction], error) {
			return list(c.h.Inputs(ctx, c.conversation()))
		}),
		changes("answerInput", "ResolveInput", conversationPath+"/inputs/{interaction}/answer", nil, func(ctx context.Context, c *apiCall, b *Answer) (Interaction, error) {
			return c.h.ResolveInput(ctx, c.conversation(), c.PathValue("interaction"), *b)
		}, func(ctx context.Context, c *apiCall) (Interaction, error) {
			row, err := c.h.store.Interaction(ctx, c.PathValue("interaction"))
			if err != nil {
				return Interaction{}, notFound(err, CodeUnknownInteraction, "interaction", c.PathValue("interaction"))
			}
			return interactionView(row), nil
		}).secret(),
		reads("listPlans", "Plans", conversationPath+"/plans", func(ctx context.Context, c *apiCall) (List[Proposal], error) {
			return list(c.h.Plans(ctx, c.conversation()))
		}),
		changes("implementPlan", "ContinuePlan", conversationPath+"/plans/{proposal}/implement", []string{"revision"}, func(ctx context.Context, c *apiCall, b *ImplementRequest) (Turn, error) {
			return c.h.ContinuePlan(ctx, c.conversation(), PlanDecision{Proposal: c.PathValue("proposal"), Revision: b.Revision, ClientID: b.ClientID})
		}, nil),
		changes("requestChanges", "RequestChanges", conversationPath+"/plans/{proposal}/request-changes", []string{"revision", "feedback"}, func(ctx context.Context, c *apiCall, b *ChangesRequest) (Turn, error) {
			return c.h.RequestChanges(ctx, c.conversation(), PlanDecision{Proposal: c.PathValue("proposal"), Revision: b.Revision, ClientID: b.ClientID, Feedback: b.Feedback})
		}, nil),
	}
}
