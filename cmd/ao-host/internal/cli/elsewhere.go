package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aoagents/ao-host/api/client"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/core"
	"github.com/aoagents/ao-host/host"
)

// elsewhere names a host in another program, such as a product that embeds the
// library, in place of a data folder.
type elsewhere struct {
	socket, url, tokenFile string
}

func (e *elsewhere) flags(root *cobra.Command) {
	fl := root.PersistentFlags()
	idFlag(fl, &e.socket, "socket", "", "talk to the host that serves this unix socket\ninstead of that of the data folder")
	idFlag(fl, &e.url, "url", "", "talk to the host that serves this URL")
	idFlag(fl, &e.tokenFile, "token-file", "", "file with the bearer token for --url")
}

func (e *elsewhere) named() bool { return e.socket != "" || e.url != "" || e.tokenFile != "" }

// check refuses combinations that say two things.
func (e *elsewhere) check(data string) error {
	switch {
	case e.socket != "" && e.url != "":
		return usagef("--socket and --url name two hosts")
	case data != "" && e.named():
		return usagef("--data names a folder of this program's own; leave it out with --socket and --url")
	case e.tokenFile != "" && e.url == "":
		return usagef("--token-file goes with --url")
	}
	return nil
}

// dial connects, and makes sure that the other side speaks the same API.
func (e *elsewhere) dial(ctx context.Context) (core.Core, error) {
	var c *client.Client
	if e.socket != "" {
		c = client.Unix(e.socket, client.Options{})
	} else {
		var opts client.Options
		if e.tokenFile != "" {
			b, err := os.ReadFile(e.tokenFile)
			if err != nil {
				return nil, usagef("the token could not be read: %v", err)
			}
			opts.Token = strings.TrimSpace(string(b))
		}
		var err error
		if c, err = client.New(e.url, opts); err != nil {
			return nil, err
		}
	}
	v, err := c.Version(ctx)
	if err == nil && v.Version != host.Version() {
		err = &host.Error{Code: host.CodeVersionMismatch, Detail: fmt.Sprintf("The host there has version %s, this program %s.", v.Version, host.Version())}
	}
	if err != nil {
		return nil, errors.Join(err, c.Close(ctx))
	}
	return c, nil
}

// options are the flags again, for a command line that finds the same host.
func (e *elsewhere) options() []string {
	var out []string
	for _, o := range []struct{ name, value string }{{"--socket", e.socket}, {"--url", e.url}, {"--token-file", e.tokenFile}} {
		if o.value != "" {
			out = append(out, o.name, shellWord(o.value))
		}
	}
	return out
}
