package daemon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/aoagents/ao-host/host"
)

// settingsName is the file in the data folder that a person may write.
const settingsName = "config.json"

// Settings is what a person may set for a data folder, in the file config.json in
// it. It holds for the daemon and for commands without one.
type Settings struct {
	// Launch replaces the command of a harness, by its id.
	Launch map[string]LaunchSetting `json:"launch,omitempty"`
	// IdleSession is after how long without anything happening the daemon ends a
	// session, to be restored by the next message: "5m", which is the default, or
	// "0s" for never.
	IdleSession string `json:"idle_session,omitempty"`
}

// LaunchSetting is how to start a harness.
type LaunchSetting struct {
	// Argv is the command, word by word. Without a slash it is found by the PATH of
	// the login shell.
	Argv []string `json:"argv"`
	// Env is added to its environment, as NAME=VALUE.
	Env []string `json:"env,omitempty"`
}

// ReadSettings reads the settings of a data folder; a missing file is empty. The
// error is invalid_argument.
func ReadSettings(dir string) (Settings, error) {
	var s Settings
	path := filepath.Join(dir, settingsName)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return s, nil
	}
	if err == nil {
		dec := json.NewDecoder(bytes.NewReader(b))
		dec.DisallowUnknownFields()
		err = dec.Decode(&s)
	}
	if err == nil {
		_, err = s.idleSession()
	}
	for id, l := range s.Launch {
		if err == nil && len(l.Argv) == 0 {
			err = fmt.Errorf("launch.%s.argv is empty", id)
		}
	}
	if err != nil {
		return s, &host.Error{Code: host.CodeInvalidArgument, Field: settingsName, Detail: fmt.Sprintf("The file %s cannot be used: %v.", path, err), Err: err}
	}
	return s, nil
}

// defaultIdleSession is when a daemon ends a session in which nothing happens.
const defaultIdleSession = 5 * time.Minute

func (s Settings) idleSession() (time.Duration, error) {
	if s.IdleSession == "" {
		return defaultIdleSession, nil
	}
	d, err := time.ParseDuration(s.IdleSession)
	if err == nil && d < 0 {
		err = errors.New("it is negative")
	}
	if err != nil {
		return 0, fmt.Errorf("idle_session %q: %w", s.IdleSession, err)
	}
	return d, nil
}

// Apply sets in a configuration what is not set there.
func (s Settings) Apply(cfg *host.Config) {
	for id, l := range s.Launch {
		if cfg.Launch == nil {
			cfg.Launch = map[string]host.Launch{}
		}
		if _, set := cfg.Launch[id]; !set {
			cfg.Launch[id] = host.Launch{Argv: l.Argv, Env: l.Env}
		}
	}
	if cfg.IdleSession == 0 {
		// What was read is valid.
		cfg.IdleSession, _ = s.idleSession()
	}
}
