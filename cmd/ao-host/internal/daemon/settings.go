package daemon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/internal/boundedfile"
)

// settingsName is the file in the data folder that a person may write.
const settingsName = "config.json"

// maxSettings bounds it, in bytes.
const maxSettings = 1 << 20

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
	b, err := boundedfile.Read(path, maxSettings)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return s, nil
	}
	if err == nil {
		err = decodeSettings(b, &s)
	}
	if err == nil {
		_, err = s.idleSession()
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

func decodeSettings(b []byte, s *Settings) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	err := dec.Decode(s)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it ends before the JSON does")
	case errors.As(err, &wrong):
		at := wrong.Field
		if at == "" {
			at = "the whole"
		}
		return fmt.Errorf("%s is a JSON %s, and should not be", at, wrong.Value)
	case err != nil:
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON object")
	}
	for _, id := range slices.Sorted(maps.Keys(s.Launch)) {
		if err := s.Launch[id].check(); err != nil {
			return fmt.Errorf("launch.%s.%w", id, err)
		}
	}
	return nil
}

// check refuses what no system starts a program with.
func (l LaunchSetting) check() error {
	if len(l.Argv) == 0 || l.Argv[0] == "" {
		return errors.New("argv names no command")
	}
	for i, word := range l.Argv {
		if strings.ContainsRune(word, 0) {
			return fmt.Errorf("argv[%d] holds a NUL character", i)
		}
	}
	for i, v := range l.Env {
		if name, _, ok := strings.Cut(v, "="); !ok || name == "" || strings.ContainsRune(v, 0) {
			return fmt.Errorf("env[%d] is not NAME=VALUE", i)
		}
	}
	return nil
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
