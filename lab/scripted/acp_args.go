package scripted

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/google/uuid"
)

// acpArgs is what the command line of a scripted ACP agent says.
type acpArgs struct {
	script, profile, home string
	approveAll, version   bool
}

// readACPArgs reads the agent's own arguments and takes those that the real agents are
// started with, so that a manifest's command works on it as it stands.
func readACPArgs(args []string, stdout io.Writer) (o acpArgs, err error) {
	for i := 0; i < len(args); i++ {
		value := func() string {
			i++
			if i < len(args) {
				return args[i]
			}
			err = fmt.Errorf("%s needs a value", args[i-1])
			return ""
		}
		switch arg := args[i]; arg {
		case "--script":
			o.script = value()
		case "--profile":
			o.profile = value()
		case "--home":
			o.home = value()
		case "--version":
			_, _ = fmt.Fprintln(stdout, "1.0.0 (scripted)")
			o.version = true
		case "acp", "agent", "stdio", "--no-leader", "--leader":
		case "--always-approve":
			o.approveAll = true
		case "--permission-mode":
			o.approveAll = value() == "bypassPermissions" || o.approveAll
		case "--mode", "--model", "-m", "--reasoning-effort", "--effort", "--xai-api-base-url", "--cli-chat-proxy-base-url":
			value()
		default:
			if !strings.HasSuffix(arg, ".js") { // the script that Node would run
				return o, fmt.Errorf("unknown argument %q; see the package documentation of lab/scripted", arg)
			}
		}
		if err != nil {
			return o, err
		}
	}
	return o, nil
}

// complete takes from the environment what the arguments leave open.
func (o *acpArgs) complete(env func(string) string) {
	if o.profile == "" {
		o.profile = env("AO_SCRIPTED_PROFILE")
	}
	for _, name := range []string{"AO_SCRIPTED_HOME", "CLAUDE_CONFIG_DIR", "GROK_HOME", "KIMCHI_HOME"} {
		if o.home == "" {
			o.home = env(name)
		}
	}
}

// environment looks a variable up in an environment as in os.Environ, where the last one counts.
func environment(env []string) func(string) string {
	return func(name string) string {
		for i := len(env) - 1; i >= 0; i-- {
			if value, ok := strings.CutPrefix(env[i], name+"="); ok {
				return value
			}
		}
		return ""
	}
}

// isDir says whether a path is a directory.
func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// isUUID says whether an id has the form of a UUID.
func isUUID(id string) bool { return uuid.Validate(id) == nil }
