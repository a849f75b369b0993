// Package scenario has the scenarios that every harness has to pass, as data: what an
// agent does and what a person does, in words that fit every protocol. One file is
// played on scripted agents ([Scenario.ACP], [Scenario.Codex]), and on real harnesses
// by a scripted model ([Scenario.Model]); the runner is in the tests of package host.
//
// A scenario is one JSON object:
//
//	{"name", "about", "needs": "review",    needs: left out of harnesses whose plans end the turn
//	 "agent": [{"on": text, "do": [acts]}],
//	 "person": [steps]}
//
// The agent does the first entry whose "on" is contained in the message. An act is one of
//
//	{"ask": {"header", "text", "options": [{"label", "description"}]}}
//	{"plan": {"text", "changed": {"on", "do"}}}      a plan of which changes will be requested: what
//	                                                 the agent does about them
//	{"plan": {"text", "approved": [acts]}}           a plan that will be implemented, and how
//	{"work": file}                                   makes a file with [Noted] in it
//	{"say": text}                                    ends the turn
//	{"gate": name}                                   waits until the runner lets it go on
//	{"hang": true}                                   waits until it is stopped or steered
//
// A step of the person is one of
//
//	{"configure": {"mode": "planning" | "execution", "permission"}}    an empty permission is the one of the run
//	{"send": text}, {"steer": text}
//	{"answer": n}                       the n-th option of the open question, from 0
//	{"request_changes": text}, {"implement": true}
//	{"work": file}                      the file is made, with or without a person's consent
//	{"ends": state}                     the last message's turn ends so
//	{"stop": true}, {"restart": true}
//	{"said": [texts]}                   all that the agent has said so far
package scenario

//go:generate go run ./supporttable -in ../../host/testdata/support.json -into ../../README.md
