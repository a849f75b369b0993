package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/aoagents/ao-host/abi/module"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/chat"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/display"
	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/schemas"
)

// The exit codes. They are part of the command line's contract.
const (
	ExitDone       = 0
	ExitError      = 1
	ExitUsage      = 2
	ExitNeedsInput = 3
	ExitFailed     = 4
	ExitUncertain  = 5
	ExitStopped    = 6
	ExitUnusable   = 7
	// ExitQuit and ExitTerminated are 128 plus the number of the signal.
	ExitQuit       = 130
	ExitTerminated = 143
)

// exitCodes is the table that the help shows.
const exitCodes = `Exit codes:
  0    done
  1    an error; it is told with a code, see: ao-host codes
  2    the command line is wrong
  3    a question, a request or a plan waits for a person
  4    the turn failed, was not sent, or waits in a held queue
  5    it is not known whether the message reached the agent
  6    the turn was stopped
  7    what doctor was asked about cannot be used
  130  left with Ctrl-C while something was going on
  143  ended by a signal`

func exitOf(o chat.Outcome) int {
	switch o {
	case chat.Done:
		return ExitDone
	case chat.NeedsInput:
		return ExitNeedsInput
	case chat.Uncertain:
		return ExitUncertain
	case chat.Stopped:
		return ExitStopped
	case chat.Quit:
		return ExitQuit
	}
	return ExitFailed
}

// usageError is a command line that makes no sense.
type usageError struct {
	text string
	// command is what to ask for help about.
	command string
}

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error {
	return &usageError{text: fmt.Sprintf(format, args...)}
}

// status carries an exit code through cobra without a message.
type status int

func (s status) Error() string { return fmt.Sprintf("exit code %d", int(s)) }

// failure is an error in the words of the command line.
type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Advice  string `json:"advice,omitempty"`
	Field   string `json:"field,omitempty"`
}

// codeUsage and codeFailed are the codes of errors that have none of their own.
const (
	codeUsage  = "usage"
	codeFailed = "failed"
	// codeTerminalOnly: the terminal finds a command that the host does not.
	codeTerminalOnly = "found_in_terminal"
)

// codedError is an error with a code of the command line.
type codedError struct{ code, text string }

func (e codedError) Error() string { return e.text }

func describe(err error) failure {
	var own *host.Error
	var mod *module.Error
	var sch *schemas.Error
	var use *usageError
	var coded codedError
	switch {
	case errors.As(err, &own):
		return failure{string(own.Code), own.Detail, own.Advice(), own.Field}
	case errors.As(err, &mod):
		return failure{Code: string(mod.Code), Message: mod.Error()}
	case errors.As(err, &sch):
		return failure{Code: sch.Code, Message: sch.Error()}
	case errors.As(err, &coded):
		return failure{Code: coded.code, Message: coded.text, Advice: adviceOf(coded.code)}
	case errors.As(err, &use):
		advice := "See: ao-host --help"
		if use.command != "" {
			advice = "See: " + use.command + " --help"
		}
		text := use.text
		if !strings.Contains(text, "\n") && !strings.HasSuffix(text, "?") {
			text += "."
		}
		return failure{Code: codeUsage, Message: text, Advice: advice}
	}
	return failure{Code: codeFailed, Message: err.Error() + "."}
}

// report writes an error and returns its exit code.
func report(w io.Writer, err error, asJSON bool) int {
	var s status
	if errors.As(err, &s) {
		return int(s)
	}
	f := describe(err)
	if asJSON {
		// The error goes where a program looks for it; failing to write it
		// changes nothing about the exit code.
		_ = json.NewEncoder(w).Encode(map[string]failure{"error": f})
	} else {
		text := f.Code + ":"
		for _, part := range []string{f.Message, f.Advice} {
			switch {
			case part == "":
			case strings.Contains(text, "\n"):
				// A list was shown.
				text += "\n" + part
			default:
				text += " " + part
			}
		}
		_, _ = fmt.Fprintln(w, "ao-host: "+display.Text(text))
	}
	if f.Code == codeUsage {
		return ExitUsage
	}
	return ExitError
}
