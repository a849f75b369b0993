package codex

import (
	"strings"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/abi/jsonwire"
)

// readTimeoutMS ends the calls that only read. Starting and resuming have no
// limit (rule 22): Codex may wait for MCP servers or read a long history.
const readTimeoutMS = 30_000

// start begins a generation: nothing of an earlier process carries over.
func (r *Reducer) start(o *abi.Open, out *guest.Effects) {
	r.state = state{phase: phaseInitializing, open: *o}
	r.open.Unsettled = append([]string(nil), o.Unsettled...)
	r.open.Facts = nil
	r.open.Settings = abi.Settings{}
	// What Codex has by itself is its baseline, read anew.
	r.open.Own = nil

	p := append(r.buf[:0], '{')
	p = append(jsonwire.AppendKey(p, FieldClientInfo), '{')
	p = jsonwire.AppendField(p, FieldName, o.Client.Name)
	title := o.Client.Title
	if title == "" {
		title = o.Client.Name
	}
	p = jsonwire.AppendField(p, FieldTitle, title)
	p = jsonwire.AppendField(p, FieldVersion, o.Client.Version)
	p = append(p, '}')
	p = append(jsonwire.AppendKey(p, FieldCapabilities), '{')
	// Without it collaboration modes, questions and the history pages are absent.
	p = jsonwire.AppendBool(jsonwire.AppendKey(p, FieldExperimentalAPI), true)
	p = jsonwire.AppendBool(jsonwire.AppendKey(p, FieldRequestAttestation), false)
	p = append(p, '}', '}')
	r.call(out, &abi.Call{Token: tokenInitialize, Method: MethodInitialize, Params: p})
}

// call sends a call whose parameters were built in the reducer's buffer.
func (r *Reducer) call(out *guest.Effects, c *abi.Call) {
	r.buf = c.Params
	out.Call(c)
}

// initialized reads the server's version and asks for all that a session needs
// to know, at once: the answers come in any order.
func (r *Reducer) initialized(result []byte, out *guest.Effects) {
	if r.phase != phaseInitializing {
		return
	}
	r.dec.Reset(result)
	eachKey(&r.dec, func(k []byte, d *jsonwire.Decoder) {
		if string(k) == FieldUserAgent {
			r.version = versionOf(d.String())
		} else {
			d.Skip()
		}
	})
	out.Notify(&abi.Notify{Method: MethodInitialized})
	r.phase = phaseReading
	r.waiting = waitAccount | waitModels | waitModes
	out.Call(&abi.Call{Token: tokenAccount, Method: MethodAccountRead, Params: abi.Raw("{}"), TimeoutMS: readTimeoutMS})
	r.callModels("", out)
	out.Call(&abi.Call{Token: tokenModes, Method: MethodCollaborationModeList, Params: abi.Raw("{}"), TimeoutMS: readTimeoutMS})
	if r.open.NativeSession == "" {
		return
	}
	// A resumed thread reports what its last turn used. The provider's own
	// baseline shows in a new thread only; this one is never written to disk. A
	// new session reports the baseline itself.
	r.waiting |= waitBaseline
	p := append(r.buf[:0], '{')
	p = jsonwire.AppendField(p, FieldCwd, r.open.Cwd)
	p = jsonwire.AppendBool(jsonwire.AppendKey(p, FieldEphemeral), true)
	p = append(p, '}')
	r.call(out, &abi.Call{Token: tokenBaseline, Method: MethodThreadStart, Params: p})
}

// versionOf takes the version out of a user agent such as
// "ao-host/0.171.0 (Debian 12.0.0; x86_64) xterm (ao-host; 0.1.0)".
func versionOf(userAgent string) string {
	_, rest, ok := strings.Cut(userAgent, "/")
	if !ok {
		return ""
	}
	version, _, _ := strings.Cut(rest, " ")
	return version
}

func (r *Reducer) callModels(cursor string, out *guest.Effects) {
	p := append(r.buf[:0], '{')
	if cursor != "" {
		p = jsonwire.AppendField(p, FieldCursor, cursor)
	}
	p = jsonwire.AppendBool(jsonwire.AppendKey(p, FieldIncludeHidden), true)
	p = append(p, '}')
	r.call(out, &abi.Call{Token: tokenModels, Method: MethodModelList, Params: p, TimeoutMS: readTimeoutMS})
}

// readAccount tells whether a turn can reach the provider at all. An API key in
// the environment does not count: the app-server never sends it (seen on both
// versions).
func (r *Reducer) readAccount(result []byte) {
	signedIn := false
	r.dec.Reset(result)
	eachKey(&r.dec, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldAccount:
			signedIn = d.Kind() == jsonwire.Object
			d.Skip()
		case FieldRequiresOpenaiAuth:
			r.needsAuth = d.Bool()
		default:
			d.Skip()
		}
	})
	r.signedOut = r.needsAuth && !signedIn
}

// readBaseline keeps the provider's own settings and lets the thread go.
func (r *Reducer) readBaseline(result []byte, out *guest.Effects) {
	t := r.readThread(result)
	if t.id == "" {
		r.baselineUnknown("The answer names no thread.", out)
		return
	}
	r.baselineThread, r.baseline = t.id, t.stance
	r.unsubscribe(t.id, out)
}

// baselineUnknown says what follows for a resumed thread, whose own settings are
// those of its last turn: that one can have run with full access.
func (r *Reducer) baselineUnknown(why string, out *guest.Effects) {
	r.warn(out, "baseline_unavailable", "Codex did not tell what is configured, so until the session is started again the permission \"default\" "+
		"asks before what a read-only sandbox forbids, and without a chosen model the last turn's goes on. "+why)
}

// unsubscribe lets a thread go that is not the session's.
func (r *Reducer) unsubscribe(thread string, out *guest.Effects) {
	p := append(r.buf[:0], '{')
	p = jsonwire.AppendField(p, FieldThreadID, thread)
	p = append(p, '}')
	r.call(out, &abi.Call{Token: tokenRelease + thread, Method: MethodThreadUnsubscribe, Params: p, TimeoutMS: readTimeoutMS})
}

// opened notes one of the first answers and goes on after the last.
func (r *Reducer) opened(bit int64, out *guest.Effects) {
	if r.phase != phaseReading {
		return
	}
	if r.waiting &^= bit; r.waiting != 0 {
		return
	}
	switch {
	case r.signedOut:
		// A session would start, but its first turn would fail after minutes of
		// retries; and a fresh session must not replace one that only needs a
		// sign-in (rule 23).
		r.phase = phaseStuck
		r.signInProblem(out, "")
	case r.open.NativeSession != "":
		r.phase = phaseRestoring
		p := append(r.buf[:0], '{')
		p = jsonwire.AppendField(p, FieldThreadID, r.open.NativeSession)
		p = jsonwire.AppendField(p, FieldCwd, r.open.Cwd)
		p = jsonwire.AppendBool(jsonwire.AppendKey(p, FieldExcludeTurns), true)
		p = append(p, '}')
		// Known already, so that updates before the answer are told apart (T6).
		r.session = r.open.NativeSession
		r.call(out, &abi.Call{Token: tokenResume, Method: MethodThreadResume, Params: p, Restores: true})
	default:
		r.startSession(out)
	}
}

func (r *Reducer) startSession(out *guest.Effects) {
	r.phase = phaseStarting
	r.session = ""
	p := append(r.buf[:0], '{')
	p = jsonwire.AppendField(p, FieldCwd, r.open.Cwd)
	p = append(p, '}')
	r.call(out, &abi.Call{Token: tokenStart, Method: MethodThreadStart, Params: p})
}

func (r *Reducer) signInProblem(out *guest.Effects, detail string) {
	message := "Codex is not signed in; run \"codex login\" and start the session again."
	if detail != "" {
		message += " It said: " + detail
	}
	r.problem(out, abi.Problem{Code: codeSignIn, Message: message, Needs: abi.NeedsSignIn})
}

const codeSignIn = "sign_in_required"

// resumeFailed continues in a fresh session, except when a sign-in is missing
// (rule 23). A missing thread is -32600 "no rollout found for thread id …".
func (r *Reducer) resumeFailed(err *abi.CallError, out *guest.Effects) {
	if r.phase != phaseRestoring {
		return
	}
	if needsSignIn(err.Message) {
		r.phase = phaseStuck
		r.signInProblem(out, err.Message)
		return
	}
	if err.Local == localExited {
		r.phase = phaseStuck
		return
	}
	r.reason = reasonOf(err)
	r.startSession(out)
}

// reasonOf is why a call failed: the provider's sentence, or the local reason.
func reasonOf(err *abi.CallError) string {
	if err.Message == "" {
		return err.Local
	}
	return err.Message
}

// Local reasons of an error (abi.CallError): the process is gone, or the frame did
// not fit its schema and was not sent.
const (
	localExited = "exited"
	localSchema = "schema"
)

func (r *Reducer) startFailed(err *abi.CallError, out *guest.Effects) {
	if r.phase != phaseStarting {
		return
	}
	r.phase = phaseStuck
	if needsSignIn(err.Message) {
		r.signInProblem(out, err.Message)
		return
	}
	if err.Local == localExited {
		return
	}
	r.problem(out, abi.Problem{Code: "session_failed", Message: "Codex could not start a session: " + err.Message})
}

// needsSignIn recognises a sign-in failure in an error's sentence: the app-server
// has no code for it (-32600 and -32603 cover everything).
func needsSignIn(message string) bool {
	m := strings.ToLower(message)
	for _, s := range [...]string{"unauthorized", "not logged in", "not signed in", "log in again", "sign in again", "please log in", "please sign in", "authentication required"} {
		if strings.Contains(m, s) {
			return true
		}
	}
	return false
}

// readSession takes over the session that thread/start or thread/resume gave.
func (r *Reducer) readSession(token string, result []byte, out *guest.Effects) {
	if token == tokenResume && r.phase != phaseRestoring || token == tokenStart && r.phase != phaseStarting {
		return
	}
	t := r.readThread(result)
	if t.id == "" {
		err := abi.CallError{Message: "the answer names no thread"}
		if token == tokenResume {
			r.resumeFailed(&err, out)
		} else {
			r.startFailed(&err, out)
		}
		return
	}
	if token == tokenResume && t.id != r.open.NativeSession {
		// 0.153.4 answers an id it does not have with a thread whose id is similar
		// (seen). That one may belong to another conversation (rule 21).
		r.unsubscribe(t.id, out)
		r.resumeFailed(&abi.CallError{Message: "Codex resumed another thread than the one asked for"}, out)
		return
	}
	r.session, r.sessionModel = t.id, t.model
	if token == tokenStart {
		r.baseline = t.stance
	}
	switch {
	case token == tokenResume:
		r.restored, r.reason = abi.RestoredResumed, ""
	case r.open.NativeSession != "" && r.open.Used:
		r.restored = abi.RestoredReplaced
	default:
		r.restored, r.reason = abi.RestoredNew, ""
	}
	if !r.settingsSeen {
		r.observe(t.stance, out)
	}
	if t.name != "" {
		r.named(t.name, out)
	}
	if len(r.open.Unsettled) == 0 {
		r.ready(out)
		return
	}
	r.phase = phaseHistory
	if r.restored != abi.RestoredResumed {
		// The session that could prove anything is gone.
		r.historyDone(false, out)
		return
	}
	r.callItems("", out)
}

func (r *Reducer) ready(out *guest.Effects) {
	r.phase = phaseReady
	out.Ready(&abi.Ready{
		NativeSession:   r.session,
		Restored:        r.restored,
		Reason:          r.reason,
		ProviderVersion: r.version,
		Catalog:         r.catalog(),
		Capabilities: abi.Capabilities{
			Resume:         true,
			Images:         true,
			AsyncQuestions: true,
			ContextUsage:   true,
			Steering:       abi.SteeringNative,
			ProvesDelivery: true,
		},
	})
}

// thread is what the answers to thread/start and thread/resume tell.
type thread struct {
	id, name string
	stance
}

func (r *Reducer) readThread(result []byte) (t thread) {
	r.dec.Reset(result)
	eachKey(&r.dec, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldThread:
			eachKey(d, func(k []byte, d *jsonwire.Decoder) {
				switch string(k) {
				case FieldID:
					t.id = d.String()
				case FieldName:
					t.name = d.String()
				default:
					d.Skip()
				}
			})
		case FieldModel:
			t.model = d.String()
		case FieldReasoningEffort:
			t.effort = d.String()
		case FieldApprovalPolicy:
			t.policy = string(d.Raw())
		case FieldApprovalsReviewer:
			t.reviewer = d.String()
		case FieldSandbox:
			t.sandbox = string(d.Raw())
		case FieldCollaborationMode:
			t.mode = readModeKind(d)
		default:
			d.Skip()
		}
	})
	return t
}

// readModeKind takes the mode out of a CollaborationMode object.
func readModeKind(d *jsonwire.Decoder) (mode string) {
	eachKey(d, func(k []byte, d *jsonwire.Decoder) {
		if string(k) == FieldMode {
			mode = d.String()
		} else {
			d.Skip()
		}
	})
	return mode
}

// eachKey calls visit for every member of an object; visit consumes the value.
// The key is valid until visit uses the decoder.
func eachKey(d *jsonwire.Decoder, visit func(k []byte, d *jsonwire.Decoder)) {
	if !d.BeginObject() {
		return
	}
	for {
		k, ok := d.NextKey()
		if !ok {
			return
		}
		visit(k, d)
	}
}
