package acp

import (
	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/abi/jsonwire"
)

// protocolVersion is the major version of the protocol that is spoken here.
const protocolVersion = 1

// readTimeoutMS ends the call that only reads. Starting and restoring have no limit
// (rule 22): an agent may wait for MCP servers or read a long history.
const readTimeoutMS = 30_000

// codeAuthRequired is the error that asks for authentication, codeNotFound the one
// for a resource that is not there.
const (
	codeAuthRequired   = -32000
	codeNotFound       = -32002
	codeInvalidRequest = -32600
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
)

// Local reasons of an error (abi.CallError).
const (
	localExited  = "exited"
	localSchema  = "schema"
	localRefused = "refused"
	localTimeout = "timeout"
	localSize    = "oversize"
)

// start begins a generation: nothing of an earlier process carries over.
func (r *Reducer) start(o *abi.Open, out *guest.Effects) {
	r.state = state{phase: phaseInitializing, open: *o}
	r.open.Unsettled = append([]string(nil), o.Unsettled...)
	r.open.Facts = append([]abi.Fact(nil), o.Facts...)
	r.open.Settings = abi.Settings{}
	if o.Own != nil {
		own := *o.Own
		own.Options = append([]abi.OptionValue(nil), own.Options...)
		r.open.Own = &own
	}

	p := append(r.buf[:0], '{')
	p = jsonwire.AppendInt(jsonwire.AppendKey(p, FieldProtocolVersion), protocolVersion)
	p = append(jsonwire.AppendKey(p, FieldClientInfo), '{')
	p = jsonwire.AppendField(p, FieldName, o.Client.Name)
	title := o.Client.Title
	if title == "" {
		title = o.Client.Name
	}
	p = jsonwire.AppendField(p, FieldTitle, title)
	p = jsonwire.AppendField(p, FieldVersion, o.Client.Version)
	p = append(p, '}')
	p = append(jsonwire.AppendKey(p, FieldClientCapabilities), '{')
	// Files and terminals are the agent's own business: it runs where the user's
	// files are. Forms and URLs are what a person answers here.
	p = append(jsonwire.AppendKey(p, FieldFs), '{')
	p = jsonwire.AppendBool(jsonwire.AppendKey(p, FieldReadTextFile), false)
	p = jsonwire.AppendBool(jsonwire.AppendKey(p, FieldWriteTextFile), false)
	p = append(p, '}')
	p = jsonwire.AppendBool(jsonwire.AppendKey(p, FieldTerminal), false)
	p = append(jsonwire.AppendKey(p, FieldElicitation), '{')
	p = append(jsonwire.AppendKey(p, FieldForm), '{', '}')
	p = append(jsonwire.AppendKey(p, FieldURL), '{', '}')
	p = append(p, '}', '}', '}')
	r.send(out, &abi.Call{Token: tokenInitialize, Method: MethodInitialize, Params: p})
}

// initialized reads what the agent can do and opens the session.
func (r *Reducer) initialized(result []byte, err *abi.CallError, out *guest.Effects) {
	if r.phase != phaseInitializing {
		return
	}
	if err != nil {
		r.phase = phaseStuck
		switch {
		case err.Code == codeAuthRequired && err.Local == "":
			r.signInProblem(out, errorText(err))
		case err.Local != localExited:
			r.problem(out, abi.Problem{Code: "initialize_failed", Field: "session", Message: r.d.Title + " refused to start: " + errorText(err)})
		}
		return
	}
	speaks := int64(protocolVersion)
	r.dec.Reset(result)
	EachKey(&r.dec, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldProtocolVersion:
			if d.Kind() == jsonwire.Number {
				speaks = d.Int()
			} else {
				d.Skip()
			}
		case FieldAgentInfo:
			EachKey(d, func(k []byte, d *jsonwire.Decoder) {
				if string(k) == FieldVersion {
					r.version = d.String()
				} else {
					d.Skip()
				}
			})
		case FieldAgentCapabilities:
			r.caps = readCaps(d)
		case FieldAuthMethods:
			for ok := d.BeginArray(); ok && d.NextElem(); {
				if a := readAuthMethod(d); a.ID != "" {
					r.auth = keepLast(append(r.auth, a), maxRecent)
				}
			}
		default:
			d.Skip()
		}
	})
	if r.version == "" && r.d.Initialized != nil {
		r.version = r.d.Initialized(result)
	}
	if speaks != protocolVersion {
		r.phase = phaseStuck
		r.problem(out, abi.Problem{Code: "protocol_version", Field: "session",
			Message: r.d.Title + " speaks version " + string(jsonwire.AppendInt(nil, speaks)) + " of the Agent Client Protocol; this binding speaks version 1. Install a version that speaks it."})
		return
	}
	r.openSession(out)
}

// readCaps reads agentCapabilities. An optional capability is an object; some older
// agents say true.
func readCaps(d *jsonwire.Decoder) (c agentCaps) {
	EachKey(d, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldLoadSession:
			c.load = d.Bool()
		case FieldPromptCapabilities:
			EachKey(d, func(k []byte, d *jsonwire.Decoder) {
				if string(k) == FieldImage {
					c.images = d.Bool()
				} else {
					d.Skip()
				}
			})
		case FieldSessionCapabilities:
			EachKey(d, func(k []byte, d *jsonwire.Decoder) {
				switch string(k) {
				case FieldResume:
					c.resume = offered(d)
				case FieldList:
					c.list = offered(d)
				case FieldClose:
					c.close = offered(d)
				default:
					d.Skip()
				}
			})
		default:
			d.Skip()
		}
	})
	return c
}

func offered(d *jsonwire.Decoder) bool {
	switch d.Kind() {
	case jsonwire.Object:
		d.Skip()
		return true
	case jsonwire.Bool:
		return d.Bool()
	}
	d.Skip()
	return false
}

func readAuthMethod(d *jsonwire.Decoder) (a AuthMethod) {
	EachKey(d, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldID:
			a.ID = d.String()
		case FieldType:
			a.Type = d.String()
		default:
			d.Skip()
		}
	})
	return a
}

// openSession restores the session that is asked for, or starts one.
func (r *Reducer) openSession(out *guest.Effects) {
	if r.open.NativeSession == "" {
		r.newSession(out)
		return
	}
	if !r.caps.load && !r.caps.resume {
		r.reason = r.d.Title + " cannot restore sessions."
		r.newSession(out)
		return
	}
	r.phase = phaseRestoring
	// Known already, so that updates before the answer are told apart (T6).
	r.session = r.open.NativeSession
	p := append(r.buf[:0], '{')
	p = jsonwire.AppendField(p, FieldSessionID, r.session)
	p = r.appendPlace(p)
	// Loading is preferred: only its answer tells modes and options for certain.
	if r.caps.load {
		r.send(out, &abi.Call{Token: tokenRestore, Method: MethodSessionLoad, Params: p, Restores: true})
	} else {
		r.send(out, &abi.Call{Token: tokenRestore, Method: MethodSessionResume, Params: p, Restores: true})
	}
}

// appendPlace appends the working directory and no MCP servers, and ends the object:
// the user configures those in the agent itself.
func (r *Reducer) appendPlace(p []byte) []byte {
	p = jsonwire.AppendField(p, FieldCwd, r.open.Cwd)
	return append(jsonwire.AppendKey(p, FieldMcpServers), '[', ']', '}')
}

func (r *Reducer) newSession(out *guest.Effects) {
	r.phase, r.session = phaseStarting, ""
	// What a failed restore told is about another session.
	r.settings, r.found, r.tools, r.messages = settings{}, nil, nil, nil
	r.early, r.earlyBytes, r.commands = nil, 0, ""
	p := r.appendPlace(append(r.buf[:0], '{'))
	r.send(out, &abi.Call{Token: tokenNew, Method: MethodSessionNew, Params: p})
}

// sessionNew takes over a fresh session.
func (r *Reducer) sessionNew(result []byte, err *abi.CallError, out *guest.Effects) {
	if r.phase != phaseStarting {
		return
	}
	id := ""
	if err == nil {
		if id = Text(result, FieldSessionID); id == "" {
			err = &abi.CallError{Message: "the answer names no session"}
		}
	}
	if err != nil {
		if r.authRequired(err, phaseStarting, out) || err.Local == localExited {
			return
		}
		r.phase = phaseStuck
		r.problem(out, abi.Problem{Code: "session_failed", Field: "session", Message: r.d.Title + " could not start a session: " + errorText(err)})
		return
	}
	r.session = id
	r.readSession(result)
	r.settings.remember()
	if r.settings.mode == "" && len(r.d.Modes.Hidden) > 0 {
		r.settings.mode = r.d.Modes.Initial
	}
	if r.open.NativeSession != "" && r.open.Used {
		r.restored = abi.RestoredReplaced
	} else {
		r.restored, r.reason = abi.RestoredNew, ""
	}
	r.ready(out)
}

// sessionRestored takes over a session that was loaded or resumed. Its answer can be
// null, and some agents report a failure as a success of another session (S6).
func (r *Reducer) sessionRestored(result []byte, err *abi.CallError, out *guest.Effects) {
	if r.phase != phaseRestoring {
		return
	}
	if err == nil {
		if id := Text(result, FieldSessionID); id != "" && id != r.session {
			err = &abi.CallError{Message: "another session was opened than the one asked for"}
		}
	}
	if err != nil {
		r.restoreFailed(err, out)
		return
	}
	told, list := r.settings.lists > 0, r.settings.options
	r.readSession(result)
	if told {
		// A list that came by notification while it loaded is newer than this answer (P10).
		r.settings.options = list
	}
	r.settings.recall(r.open.Own)
	// Whatever the agent kept, the remembered tuple is applied as a whole (S4).
	r.settings.force()
	if len(r.d.Modes.Hidden) > 0 {
		// What was replayed is history, not what is in force.
		r.settings.mode = ""
	}
	r.restored, r.reason = abi.RestoredResumed, ""
	r.ready(out)
}

// restoreFailed continues in a fresh session, except when a sign-in is missing
// (rule 23). Agents say "not found" with -32002, hide it in an internal error's data
// or call it invalid parameters; where the list can tell, it is asked.
func (r *Reducer) restoreFailed(err *abi.CallError, out *guest.Effects) {
	if r.authRequired(err, phaseRestoring, out) {
		return
	}
	if err.Local == localExited {
		r.phase = phaseStuck
		return
	}
	r.reason = errorText(err)
	if r.caps.list && err.Code != codeNotFound && err.Local == "" {
		r.phase = phaseListing
		p := append(r.buf[:0], '{')
		p = jsonwire.AppendField(p, FieldCwd, r.open.Cwd)
		r.send(out, &abi.Call{Token: tokenList, Method: MethodSessionList, Params: append(p, '}'), TimeoutMS: readTimeoutMS})
		return
	}
	r.newSession(out)
}

// listed adds to the reason of a failed restore whether the session still exists.
func (r *Reducer) listed(result []byte, err *abi.CallError, out *guest.Effects) {
	if r.phase != phaseListing {
		return
	}
	if err != nil && err.Local == localExited {
		r.phase = phaseStuck
		return
	}
	if err == nil {
		known, more := false, false
		r.dec.Reset(result)
		EachKey(&r.dec, func(k []byte, d *jsonwire.Decoder) {
			switch string(k) {
			case FieldSessions:
				for ok := d.BeginArray(); ok && d.NextElem(); {
					EachKey(d, func(k []byte, d *jsonwire.Decoder) {
						if string(k) == FieldSessionID {
							known = string(d.Bytes()) == r.open.NativeSession || known
						} else {
							d.Skip()
						}
					})
				}
			case FieldNextCursor:
				more = d.String() != ""
			default:
				d.Skip()
			}
		})
		switch {
		case known:
			r.reason += " (It is still listed.)"
		case !more:
			r.reason += " (It is not listed any more.)"
		}
	}
	r.newSession(out)
}

// authRequired authenticates once when the agent asks for it, and reports whether the
// error was about that. A second time it fails clearly (S7).
func (r *Reducer) authRequired(err *abi.CallError, back string, out *guest.Effects) bool {
	if err.Code != codeAuthRequired || err.Local != "" {
		return false
	}
	method := ""
	if !r.authTried && r.d.AuthMethod != nil {
		method = r.d.AuthMethod(r.auth, r.fact)
	}
	if method == "" {
		r.phase = phaseStuck
		r.signInProblem(out, errorText(err))
		return true
	}
	r.authTried, r.afterAuth, r.phase = true, back, phaseAuth
	p := append(r.buf[:0], '{')
	p = jsonwire.AppendField(p, FieldMethodID, method)
	r.send(out, &abi.Call{Token: tokenAuth, Method: MethodAuthenticate, Params: append(p, '}')})
	return true
}

func (r *Reducer) fact(name string) bool {
	for _, f := range r.open.Facts {
		if f.Name == name {
			return f.Set
		}
	}
	return false
}

func (r *Reducer) authenticated(err *abi.CallError, out *guest.Effects) {
	if r.phase != phaseAuth {
		return
	}
	if err != nil {
		r.phase = phaseStuck
		if err.Local != localExited {
			r.signInProblem(out, errorText(err))
		}
		return
	}
	if r.afterAuth == phaseRestoring {
		r.openSession(out)
	} else {
		r.newSession(out)
	}
}

func (r *Reducer) signInProblem(out *guest.Effects, detail string) {
	message := r.d.Title + " is not signed in; " + r.d.SignIn
	if detail != "" {
		message += " It said: " + detail
	}
	r.problem(out, abi.Problem{Code: codeSignIn, Field: "session", Message: message, Needs: abi.NeedsSignIn})
}

const codeSignIn = "sign_in_required"

// ready says that the session takes submissions, then what came too early.
func (r *Reducer) ready(out *guest.Effects) {
	r.applyEarly(true, out)
	if len(r.open.Unsettled) > 0 {
		out.History(&abi.History{Found: r.found})
	}
	r.phase = phaseReady
	r.tellCut(out)
	c := r.catalog()
	r.told = string(c.AppendJSON(nil))
	out.Ready(&abi.Ready{
		NativeSession:   r.session,
		Restored:        r.restored,
		Reason:          r.reason,
		ProviderVersion: r.version,
		Catalog:         c,
		Capabilities: abi.Capabilities{
			Resume:         r.caps.load || r.caps.resume,
			Images:         r.caps.images,
			ContextUsage:   true,
			Steering:       abi.SteeringCancelAndPrompt,
			ProvesDelivery: r.d.PromptMeta != nil,
		},
	})
	r.observe(out)
	if r.title != "" {
		out.SessionInfo(&abi.SessionInfo{Title: r.title})
	}
	if r.commands != "" {
		raw := r.commands
		r.commands = ""
		r.tellCommands([]byte(raw), out)
	}
	r.applyEarly(false, out)
	r.early, r.earlyBytes = nil, 0
}

// close asks for an orderly end; the pipe is closed after this.
func (r *Reducer) close(out *guest.Effects) {
	if r.session == "" || r.phase != phaseReady {
		return
	}
	if t := r.cur; t != nil && !t.cancelled {
		r.cancel(t, out)
	}
	if !r.caps.close {
		return
	}
	p := append(r.buf[:0], '{')
	p = jsonwire.AppendField(p, FieldSessionID, r.session)
	r.send(out, &abi.Call{Token: tokenClose, Method: MethodSessionClose, Params: append(p, '}'), TimeoutMS: readTimeoutMS})
}

// errorText is what an error says, with the reason that some agents put into its data.
func errorText(err *abi.CallError) string {
	s := err.Message
	if s == "" {
		s = err.Local
	}
	var d jsonwire.Decoder
	d.Reset(err.Data)
	detail := ""
	if d.Kind() == jsonwire.String {
		detail = d.String()
	} else {
		EachKey(&d, func(k []byte, d *jsonwire.Decoder) {
			switch string(k) {
			case "details", "detail", FieldMessage:
				if t := d.String(); t != "" {
					detail = t
				}
			default:
				d.Skip()
			}
		})
	}
	if detail != "" && detail != s {
		if s != "" {
			s += ": "
		}
		s += detail
	}
	if s == "" {
		s = "it gave no reason"
	}
	return s
}
