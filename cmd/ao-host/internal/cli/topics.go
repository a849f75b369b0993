package cli

import "github.com/spf13/cobra"

// topics are pages of the help that belong to no command.
func topics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "exit-codes", Short: "What the exit code of a command means", Long: exitCodes + `

A command that changes something ends with 0 when the change is committed. What
an agent then does is told by the exit codes 3 to 6, of run and of the commands
that take --wait: send, steer, retry, answer, implement, request-changes and
stop. Whoever lost against another client gets 1 with a code, among them
stale_revision, turn_changed, turn_not_queued, interaction_answered and
proposal_closed; nothing was changed then.`},
		{Use: "json", Short: "What commands write with --json", Long: jsonTopic},
	}
}

// jsonTopic names the shape that each command writes. The tests hold every line
// of it against what the command does.
const jsonTopic = `With --json every command writes JSON to standard output and errors to standard
error, as {"error": {"code", "message", "advice", "field"}}. No command asks a
person anything then. The names are those of the API (api/openapi.json), whose
members only ever grow:

  new, relocate                     Conversation
  delete                            Deleted
  prune                             Pruned
  list                              list of Conversation
  send, steer, retry                Turn
  implement, request-changes        Turn
  queue edit, move, cancel          Turn
  queue list                        {"held", "reason", "turns": list of Turn}
  controls, probe, set, stop        Controls
  queue resume                      Controls
  inputs                            list of Interaction
  answer                            Interaction
  plans                             list of Proposal
  show                              {"conversation", "controls", "turns",
                                    "inputs", "plans"}
  watch, export                     Event, one a line
  run, and whatever takes --wait    Event, one a line; the last line is
                                    {"type": "result", "outcome", "exit",
                                    "conversation", "turn", "state"}
  bindings list                     list of InstalledBinding, with "error"
  bindings allow                    InstalledBinding
  codes                             list of {"code", "advice"}

Lists are never null.`
