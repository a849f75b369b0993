package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/attachment"
	"github.com/aoagents/ao-host/host"
)

// maxPrompt bounds a text read from standard input, in bytes. The host's own bound
// is below it and gives the better message.
const maxPrompt = 16 << 20

// prompt is the one argument that is a message; "-" is read from standard input.
func (a *App) prompt(args []string) (string, error) {
	if len(args) == 0 {
		return "", nil
	}
	if args[0] != "-" {
		return args[0], nil
	}
	return a.input("message")
}

// input reads all of standard input, which must not be a terminal: nobody is asked.
func (a *App) input(what string) (string, error) {
	if a.con.Interactive {
		return "", usagef("the %s - is read from standard input, which is a terminal; write the %s as an argument", what, what)
	}
	b, err := io.ReadAll(io.LimitReader(a.Stdin, maxPrompt+1))
	if err != nil {
		return "", fmt.Errorf("the %s could not be read: %w", what, err)
	}
	if len(b) > maxPrompt {
		return "", &host.Error{Code: host.CodeMessageTooLarge}
	}
	return string(b), nil
}

// contentOf makes the message: the prompt, then what is attached.
func contentOf(prompt string, attach []string) ([]host.Content, error) {
	var out []host.Content
	if strings.TrimSpace(prompt) != "" {
		out = host.Text(prompt)
	}
	for _, name := range attach {
		part, err := attachment.ReadNamed(name)
		switch {
		case host.CodeOf(err) != "":
			return nil, err
		case err != nil:
			return nil, usagef("the attachment could not be read: %v", err)
		}
		out = append(out, part)
	}
	return out, nil
}
