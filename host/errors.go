package host

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Code is a stable error code.
type Code string

// The codes. Their sentences are in [Codes].
const (
	CodeStaleRevision       Code = "stale_revision"
	CodeUnknownConversation Code = "unknown_conversation"
	CodeConversationDeleted Code = "conversation_deleted"
	CodeUnfinishedWork      Code = "unfinished_work"
	CodeUnknownHarness      Code = "unknown_harness"
	CodeUnknownTurn         Code = "unknown_turn"
	CodeUnknownInteraction  Code = "unknown_interaction"
	CodeUnknownProposal     Code = "unknown_proposal"
	CodeUnknownMode         Code = "unknown_mode"
	CodeUnknownPermission   Code = "unknown_permission"
	CodeUnknownModel        Code = "unknown_model"
	CodeUnknownEffort       Code = "unknown_effort"
	CodeUnknownOption       Code = "unknown_option"
	CodeInteractionStale    Code = "interaction_stale"
	CodeInteractionAnswered Code = "interaction_answered"
	CodeAnswerShape         Code = "answer_shape"
	CodeAnswerOption        Code = "answer_option"
	CodeSecretFollowUp      Code = "secret_follow_up"
	CodeProposalClosed      Code = "proposal_closed"
	CodeEmptyMessage        Code = "empty_message"
	CodeMessageTooLarge     Code = "message_too_large"
	CodeContentUnsupported  Code = "content_unsupported"
	CodeTurnNotQueued       Code = "turn_not_queued"
	CodeTurnChanged         Code = "turn_changed"
	CodeTurnFixed           Code = "turn_fixed"
	CodeTurnNotRetryable    Code = "turn_not_retryable"
	CodeRetryRepeatsWork    Code = "retry_repeats_work"
	CodeTurnNotRunning      Code = "turn_not_running"
	CodeNothingRunning      Code = "nothing_running"
	CodeClientIDReused      Code = "client_id_reused"
	CodeHarnessNotFound     Code = "harness_not_found"
	CodeInterpreterMissing  Code = "harness_interpreter_missing"
	CodeLaunchFailed        Code = "launch_failed"
	CodeHarnessExited       Code = "harness_exited"
	CodeStartSlow           Code = "start_slow"
	CodeStartAborted        Code = "start_aborted"
	CodeProviderVersion     Code = "provider_version"
	CodeSignInNeeded        Code = "sign_in_needed"
	CodeWorkingDirMissing   Code = "working_directory_missing"
	CodeWorkingDirNotDir    Code = "working_directory_not_a_directory"
	CodeWorkingDirChanged   Code = "working_directory_changed"
	CodeBindingFault        Code = "binding_fault"
	CodeBindingQuarantined  Code = "binding_quarantined"
	CodeBindingNotAllowed   Code = "binding_not_allowed"
	CodeModuleTruncated     Code = "module_truncated"
	CodeModuleForeign       Code = "module_foreign"
	CodeModuleComponent     Code = "module_component"
	CodeModuleInvalid       Code = "module_invalid"
	CodeManifestMissing     Code = "manifest_missing"
	CodeManifestInvalid     Code = "manifest_invalid"
	CodeABIUnsupported      Code = "abi_unsupported"
	CodeSchemasInvalid      Code = "schemas_invalid"
	CodeSchemasMissing      Code = "schemas_missing"
	CodeOutboundSchema      Code = "outbound_schema"
	CodeNativeSessionTaken  Code = "native_session_taken"
	CodeStoreLocked         Code = "store_locked"
	CodeStoreReadOnly       Code = "store_read_only"
	CodeStoreFull           Code = "store_full"
	CodeStoreNewer          Code = "store_newer"
	CodeStoreCorrupt        Code = "store_corrupt"
	CodeStoreOlder          Code = "store_older"
	CodeDiskLow             Code = "disk_low"
	CodeLoginEnv            Code = "login_environment_unavailable"
	CodeLoginEnvSlow        Code = "login_environment_slow"
	CodeSignInUnproven      Code = "sign_in_unproven"
	CodeProviderUnread      Code = "provider_version_unread"
	CodeStoreFailed         Code = "store_failed"
	CodeUnsupportedPlatform Code = "unsupported_platform"
	CodeResync              Code = "resync"
	CodeClosed              Code = "host_closed"
	CodeInvalidArgument     Code = "invalid_argument"
	CodeUnknownRoute        Code = "unknown_route"
	CodeMethodNotAllowed    Code = "method_not_allowed"
	CodeMediaType           Code = "unsupported_media_type"
	CodeForeignRequest      Code = "foreign_request"
	CodeUnreachable         Code = "host_unreachable"
	CodeAgentOrigin         Code = "agent_origin"
	CodeForeignUser         Code = "foreign_user"
	CodeUnauthorized        Code = "unauthorized"
	CodeVersionMismatch     Code = "version_mismatch"
	CodeDaemonNotStarted    Code = "daemon_not_started"
	CodeSocketUnusable      Code = "socket_unusable"
	CodeExitUnproven        Code = "exit_unproven"
	CodeUncertainDelivery   Code = "uncertain_delivery"
	CodeSessionReplaced     Code = "session_replaced"
	CodeStopUnanswered      Code = "stop_unanswered"
	CodeReplyRefused        Code = "reply_refused"
	CodeCallRefused         Code = "call_refused"
	CodeSchemaViolation     Code = "schema_violation"
	CodeLineSkipped         Code = "line_skipped"
	CodeTooManyRequests     Code = "too_many_requests"
	CodeTooManyCalls        Code = "too_many_calls"
	CodeRelaunch            Code = "relaunch"
	CodeHarnessReplaced     Code = "harness_replaced"
	CodePermissionDiffers   Code = "permission_differs"
	CodeDeliveryRejected    Code = "delivery_rejected"
	CodeNotSent             Code = "not_sent"
	CodeNotInForce          Code = "not_in_force"
	CodeHoldStopped         Code = "stopped"
	CodeHoldProviderOutage  Code = "provider_outage"
	CodeHoldClosed          Code = "closed"
	CodeHoldDeletion        Code = "deletion"
)

// codeTexts says for each code what it means and what to do.
var codeTexts = map[Code]string{
	CodeStaleRevision:       "The settings were changed by someone else since they were read. Read the controls again and repeat the change with the new revision.",
	CodeUnknownConversation: "There is no such conversation in this data folder. List the conversations and use one of their ids.",
	CodeConversationDeleted: "The conversation was deleted, or is just being deleted, so nothing more can come of it. Leave it, or list the conversations.",
	CodeUnfinishedWork:      "Something in this conversation is not finished and would be lost. Wait for it, stop it or answer it, or say that the unfinished may be lost too (unfinished).",
	CodeUnknownHarness:      "No binding for this harness is installed. List the bindings, or put its module into the bindings folder and allow it.",
	CodeUnknownTurn:         "There is no such turn in this conversation. Show the conversation and use one of its turn ids.",
	CodeUnknownInteraction:  "There is no such question or request in this conversation. List the open inputs and use one of their ids.",
	CodeUnknownProposal:     "There is no such plan in this conversation. List the plans and use one of their ids.",
	CodeUnknownMode:         "The harness does not offer this mode. Choose one of the modes that the controls list.",
	CodeUnknownPermission:   "A permission is default, accept-edits, auto or bypass-permissions. Use one of these.",
	CodeUnknownModel:        "The harness does not offer this model. Choose one of the models that the controls list.",
	CodeUnknownEffort:       "The chosen model does not have this effort. Choose one of its efforts, or reset the effort.",
	CodeUnknownOption:       "The harness does not offer this option or value. Choose one that the controls list.",
	CodeInteractionStale:    "This card belongs to a session or turn that has ended, so an answer could reach nobody. Answer the newest card, or send a message.",
	CodeInteractionAnswered: "Somebody answered this card already; the first answer counts. Read the journal to see it.",
	CodeAnswerShape:         "The answer does not have the shape this card asks for. The message names the field; correct it and answer again.",
	CodeAnswerOption:        "The answer names an option or decision that the card does not offer. Choose among those it lists, by index or id.",
	CodeSecretFollowUp:      "This question is answered by an ordinary message, which is stored; a secret cannot travel that way. Give the secret to the harness in another way and answer without it.",
	CodeProposalClosed:      "This plan is not open any more, or its text has changed. List the plans and decide on the newest revision.",
	CodeEmptyMessage:        "The message has no content. Write something or attach something.",
	CodeMessageTooLarge:     "The message is larger than this host accepts. Shorten it, or put the content into a file in the project and name the file.",
	CodeContentUnsupported:  "This harness does not take this kind of content. Send it as text, or choose a model that takes it.",
	CodeTurnNotQueued:       "This turn has left the queue, so it can no longer be changed or cancelled. Stop it if it runs.",
	CodeTurnChanged:         "Somebody has edited or moved this queued message since it was read. Read the turn again and repeat the change with its new version.",
	CodeTurnFixed:           "What this queued turn says, or where it stands, follows from what it answers, decides or steers. Cancel it and send another message instead.",
	CodeTurnNotRetryable:    "Only a turn that ended can be sent again. Wait for its end, or cancel it.",
	CodeRetryRepeatsWork:    "This turn used tools, so sending it again may do the same work twice. Look at what it did, then retry with repeat_work, or send a message that says how to go on.",
	CodeTurnNotRunning:      "That turn is not the one that runs now, so nothing was stopped. Read the controls and stop the running turn.",
	CodeNothingRunning:      "No turn is running. There is nothing to stop or steer.",
	CodeClientIDReused:      "This client message id was used for another kind of request in this conversation. Use a new id for a new request.",
	CodeHarnessNotFound:     "The harness's command was not found. Install it, or set its path; the message names the command and where it was looked for.",
	CodeInterpreterMissing:  "The harness's command is a script whose interpreter was not found. Install the interpreter or extend PATH; the message names it.",
	CodeLaunchFailed:        "The harness could not be started. The message says why; correct it and send again.",
	CodeHarnessExited:       "The harness's process ended by itself. Its last output is attached; the next message starts it again.",
	CodeStartSlow:           "The harness is not ready after 30 seconds. The host goes on waiting; stop aborts the start.",
	CodeStartAborted:        "The start of the harness was aborted. Messages stay queued; resume the queue or send to start again.",
	CodeProviderVersion:     "The harness has a version that this binding was not made for. It may work; update the binding if it does not.",
	CodeSignInNeeded:        "The harness is not signed in. Run the sign-in command named in the message, then resume the queue.",
	CodeWorkingDirMissing:   "The working directory does not exist any more. Restore it, or relocate the conversation to where its files are; the history stays readable.",
	CodeWorkingDirNotDir:    "The working directory is not a directory. Choose a directory, or relocate the conversation to one.",
	CodeWorkingDirChanged:   "The working directory's name leads to another place than when the conversation was created. Restore it, or relocate the conversation to where it shall go on.",
	CodeBindingFault:        "The binding failed and was stopped; the harness was ended. The conversation goes on with the next message; report the fault to the binding's author.",
	CodeBindingQuarantined:  "The binding failed three times within a minute and is not started again for now. Wait a minute, or update the binding.",
	CodeBindingNotAllowed:   "This module was dropped into the bindings folder and waits for your consent. Check what it asks for, then run: ao-host bindings allow NAME.",
	CodeModuleTruncated:     "The module file ends too early. Copy it again.",
	CodeModuleForeign:       "The file is not a WebAssembly module. Use a module made with: ao-host bindings pack.",
	CodeModuleComponent:     "The file is a WebAssembly component; bindings are core modules. Build it as a core module.",
	CodeModuleInvalid:       "The module is malformed or uses something a binding must not use. The message names it; build the module without it.",
	CodeManifestMissing:     "The module has no ao.manifest section. Add it with: ao-host bindings pack.",
	CodeManifestInvalid:     "The module's manifest is invalid. The message names the field; correct it and pack again.",
	CodeABIUnsupported:      "The module needs another ABI version than this host has. The message names both; update the host or use another build of the binding.",
	CodeSchemasInvalid:      "The module's ao.schemas section is damaged. Pack the module again.",
	CodeSchemasMissing:      "The module has no ao.schemas section. Add it with: ao-host bindings pack.",
	CodeOutboundSchema:      "A message to the harness did not fit the provider's schema and was not sent. Report it to the binding's author; try again with other settings.",
	CodeNativeSessionTaken:  "Another conversation holds this harness session. Use that conversation, or start a new one.",
	CodeStoreLocked:         "Another process has this data folder open. Use that process, end it, or choose another folder.",
	CodeStoreReadOnly:       "The data folder cannot be written. Change its permissions or choose another folder.",
	CodeStoreFull:           "The disk is full, so nothing was accepted. Free some space and try again.",
	CodeStoreNewer:          "The data folder was written by a newer version. Update ao-host; nothing was changed.",
	CodeStoreCorrupt:        "The data file is damaged. Restore one of the backups beside it.",
	CodeStoreOlder:          "The data folder was written by an older version. There is nothing to do: it is brought up to date when it is next opened, after a backup.",
	CodeDiskLow:             "There is little room on the disk; when it is full nothing more is accepted. Free some space.",
	CodeLoginEnv:            "The environment of the login shell is not known, so harnesses are started from that of this program and may not be found. Correct the shell's start files, or give the path of the harness's command.",
	CodeLoginEnvSlow:        "The login shell takes long to start, and with it the first start of a harness. Make its start files faster.",
	CodeSignInUnproven:      "The harness may not be signed in. If it asks for that, run its sign-in command; a credential in the system's keychain is not seen here.",
	CodeProviderUnread:      "The version of the harness is not known before it is started. Start it once without sending anything: ao-host doctor --probe.",
	CodeStoreFailed:         "The data file could not be read or written. The message says why.",
	CodeUnsupportedPlatform: "This operating system is not supported. Use Linux or macOS.",
	CodeResync:              "The journal no longer goes back that far. Read the conversation as it is now and continue from its newest event.",
	CodeClosed:              "The host is closed. Open it again.",
	CodeInvalidArgument:     "A value in the request is not valid. The message names it.",
	CodeUnknownRoute:        "The API has no such address. Its OpenAPI document lists all of them.",
	CodeMethodNotAllowed:    "The address does not take this HTTP method. The Allow header names those it takes.",
	CodeMediaType:           "The body is not declared as JSON. Send it with Content-Type: application/json.",
	CodeForeignRequest:      "The request came from a web page, or through a name or address that does not belong to this machine alone. Use the socket or the loopback address, from a program.",
	CodeUnreachable:         "The host could not be reached, or the connection broke. Check that it runs and where it listens, then repeat the request with the same idempotency key.",
	CodeAgentOrigin:         "The request came from a process that an agent started, and an agent must not answer for a person or change what the person set. Run the command yourself, in a terminal of your own.",
	CodeForeignUser:         "The request came from another user of this machine. Only the user whose data folder it is may use it.",
	CodeUnauthorized:        "The request does not bear the token of this host. Send it as Authorization: Bearer TOKEN; the daemon's is in the file token of its data folder.",
	CodeVersionMismatch:     "The daemon and this program are of different versions. End it with ao-host serve --stop, or let this one take its place with ao-host serve --replace.",
	CodeDaemonNotStarted:    "The daemon could not be started. The message says why; what it printed is in its log.",
	CodeSocketUnusable:      "The socket's place cannot be used. The message says why; correct it, or choose another data folder.",
	CodeExitUnproven:        "An earlier process of this conversation may still run, and it could not be ended. End it by hand; its process id is in the message.",
	CodeUncertainDelivery:   "It is not known whether the message reached the agent, and it is never sent again by itself. Look at what the agent did, then retry it or resume the queue.",
	CodeSessionReplaced:     "The harness could not restore its session; the conversation goes on in a fresh one that does not know what was said before.",
	CodeStopUnanswered:      "The harness did not end the turn after being asked to stop. Stop again to end its process.",
	CodeReplyRefused:        "The binding tried to answer a request that only a person may answer; the answer was not sent. Report it to the binding's author.",
	CodeCallRefused:         "The binding tried to use a method that its manifest does not declare; nothing was sent. Report it to the binding's author.",
	CodeSchemaViolation:     "The harness sent something that does not fit its own schema. It was used as far as it could be read.",
	CodeLineSkipped:         "The harness printed a line that is too long or no message; it was skipped.",
	CodeTooManyCalls:        "The binding has 1000 calls that the harness has not answered, or 1000 timers, so further ones are refused. Stop the turn if nothing goes on, and report it to the binding's author.",
	CodeTooManyRequests:     "The harness has as many requests open as it may (1000, or 8 MiB together), so further ones are refused until some are answered. Answer the open ones, or stop the turn.",
	CodeHarnessReplaced:     "The harness was updated or replaced since this conversation used it last, and goes on in the new version. There is nothing to do unless it behaves differently.",
	CodeRelaunch:            "The harness is ended and started again before the next turn, because only a new process can put the change in force. There is nothing to do.",
	CodePermissionDiffers:   "The review offered no decision for the remembered permission, so a weaker one is in force until the next turn restores it. Choose another permission if it is to stay.",
	CodeDeliveryRejected:    "The harness refused the message; nothing ran. The turn says why. Change it or send another one.",
	CodeNotSent:             "The message was not sent, for the reason the turn gives. Correct it and retry the turn, or resume the queue.",
	CodeNotInForce:          "Something the running turn asked for is not in force. Stop the turn if that matters, or choose something the harness offers.",
	CodeHoldStopped:         "The queue waits because you stopped a turn. Resume the queue, or send a message.",
	CodeHoldProviderOutage:  "The queue waits because the provider failed and the next message would fail too. Resume the queue when the provider is back.",
	CodeHoldClosed:          "The queue waits because the host was ended or restarted while messages were in it. Resume the queue, or send a message.",
	CodeHoldDeletion:        "The queue waits because the conversation was to be deleted, and what ran was stopped for that. Delete it again, or resume the queue or send a message to go on with it.",
}

// CodeInfo is one row of the table of codes.
type CodeInfo struct {
	Code Code   `json:"code"`
	Text string `json:"text"`
}

// Codes lists every code with its sentence, in alphabetical order.
func Codes() []CodeInfo {
	out := make([]CodeInfo, 0, len(codeTexts))
	for c, t := range codeTexts {
		out = append(out, CodeInfo{c, t})
	}
	slices.SortFunc(out, func(a, b CodeInfo) int { return cmpString(string(a.Code), string(b.Code)) })
	return out
}

func cmpString(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Error is how every failure is told.
type Error struct {
	Code Code
	// Detail says what exactly was wrong, without secrets or harness text of
	// unbounded length. It may be empty.
	Detail string
	// Field names the offending member of the request, if there is one.
	Field string
	Err   error
	// complete: Detail comes from a part that says what to do itself.
	complete bool
}

func (e *Error) Error() string {
	s := string(e.Code) + ": "
	if e.Detail != "" {
		s += e.Detail + " "
	}
	if e.complete {
		return strings.TrimSpace(s)
	}
	return s + e.Advice()
}

// Advice is the sentence that says what to do.
func (e *Error) Advice() string { return codeTexts[e.Code] }

func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is an *Error of the same code, so that
// errors.Is(err, &Error{Code: c}) works.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// CodeOf returns the code of err, or "" if it has none.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func fail(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Detail: fmt.Sprintf(format, args...)}
}

func failField(code Code, field, format string, args ...any) *Error {
	return &Error{Code: code, Field: field, Detail: fmt.Sprintf(format, args...)}
}
