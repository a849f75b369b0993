// Package scripted is a harness without a model: a process that speaks the app-server
// protocol of Codex over stdio and does what a script says. The host's tests use it for
// everything a real harness does rarely or not on demand, and the product's demo runs on
// it. What it says is judged by the recordings in testdata/recordings and by the real
// binaries (lab/NOTES.md); it decodes what it receives by itself and is as strict about
// required members, enum values and order as the real one, with the same error texts.
//
// [Main] is the whole program:
//
//	scripted [app-server] [--script FILE] [--provider-version 0.171.0|0.153.4]
//
// Without --script the script is the file named by $AO_SCRIPTED_SCRIPT, else
// "scripted.json" in $CODEX_HOME, else the built-in demo. Threads live in
// $CODEX_HOME/scripted and survive restarts; without $CODEX_HOME they are forgotten.
//
// # Script
//
// A script is one JSON object. Unknown members are errors.
//
//	{
//	  "version": "0.171.0",               version it behaves like: "0.171.0" (default) or "0.153.4"
//	  "models": [{"id", "title", "efforts", "default_effort", "hidden", "default"}],
//	  "page_size": 2,                     of model/list and thread/items/list when the client gives no limit
//	  "defaults": {"model", "effort", "approval_policy", "approvals_reviewer", "sandbox"},
//	  "config_warnings": ["…"],           sent after initialize
//	  "start": [steps],                   run before anything is read: "delay_ms", "wait_file", "stderr", "raw", "raw_base64",
//	                                      "exit", "hang", "close_stdout", "ignore_sigterm", "ignore_eof"
//	  "methods": {"thread/resume": [{"error": {"code": -32600, "message": "…"}, "times": 1}]},
//	  "turns": [turns]
//	}
//
// An entry of "methods" takes the place of a method's ordinary answer: "error", "result",
// "hang" (never answered), "exit" (the process ends instead), or the ordinary one. It comes
// after "delay_ms", and once "wait_file" is there. "times" 0 means always.
//
// # Turns
//
// A turn/start that does not join a running turn takes the first turn of the script, in
// order, whose "when" agrees with the state and that this thread has not used; "repeat"
// ones are never used up. When none is left the agent says so.
//
//	{"name", "when": {…}, "repeat": true,
//	 "respond": "after_end" | "never",    when turn/start is answered, instead of at once; after_end: the end of the turn comes first
//	 "exit_before_message": 1,            the process ends with this code having read turn/start, before it keeps anything
//	 "steps": [steps],
//	 "steered": [steps]}                  run for input that reached the running turn
//
// A condition ("when", "if") agrees when all its members do: "mode", "model", "effort",
// "approval_policy", "sandbox" are equal; "text" is contained in the user's message;
// "plan" says whether the thread has a proposed plan; "resumed" whether it was resumed;
// "turn" is the number of the turn in the thread; "answer" are answers by question id;
// "decision" is the last approval decision; "action" the last answer to a form or URL.
//
// # Steps
//
// Each step is an object with one of these members, and the others listed with it:
//
//	"say": text, "chunks"                 an agent message, streamed in pieces
//	"reason": text                        a reasoning item
//	"plan": text, "intro", "chunks"       a proposed plan, inside a message that begins with intro
//	"ask": {"id", "questions": [{"id", "header", "question", "options": [{"label", "description"}],
//	        "other", "secret"}], "blocking", "resolve_after_ms"}
//	"ask_async": {"id", "questions": [{"title", "options": ["…"]}]}
//	"run": {"id", "command", "reason", "approve", "output", "exit_code", "takes_ms", "late_ms", "shell", "deny_review"}
//	"write_file": {"id", "path", "text", "approve", "reason", "deny_review"}   really writes, inside the working directory
//	"permissions": {"id", "reason", "permissions": {…}}
//	"form": {"server", "message", "schema"}, "url": {"server", "message", "url"}
//	"checklist": [{"step", "status"}], "explanation"
//	"usage": {"input", "cached", "output", "reasoning", "window"}
//	"child": {"prompt", "steps", "background", "early"}    a turn of a child thread
//	"self_turn": [steps]                  a turn the agent begins itself when this one has ended
//	"name": text, "warn": text, "settings": {"mode", "model", "effort", "approval_policy", "approvals_reviewer", "sandbox"}
//	"notify": {"method", "params"}, "request": {"method", "params"}, "item": {"type", …}
//	"delay_ms": n, "wait_file": path, "wait_interrupt": true, "wait_steer": true
//	"fail": {"code", "message", "http", "retries"}         ends the turn as failed; code as in codexErrorInfo
//	"if": condition, "then": [steps], "else": [steps]
//	"raw": text, "raw_base64": bytes      a line as it stands
//	"huge": {"bytes", "kind"}             kind: "delta", "junk", "request", or "response" for the next one
//	"burst": {"count", "text"}            that many deltas of one message; "bytes" instead of "text" says how long each
//	                                      is, and with "prose": true they are of text that does not repeat
//	"stderr": text, "exit": code, "close_stdout": true, "ignore_sigterm": true, "ignore_eof": true
//	"hang": true                          the turn never goes on, not even when interrupted
//
// "approve" true asks for approval unless the policy is never; false never asks; left out,
// it asks when the sandbox is read-only. With the reviewer auto_review a review takes the
// place of the question, and "deny_review" decides it.
//
// Texts may hold {{text}} (the user's message), {{answer.ID}}, {{answers}}, {{decision}},
// {{action}}, {{content}}, {{plan}}, {{mode}}, {{model}}, {{effort}}, {{cwd}}, {{turn}}.
// They are remembered with the thread, so that a later turn can speak of an earlier answer.
package scripted
