package lab

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Home is a harness with a home folder of its own, ready to be launched.
type Home struct {
	Harness Harness
	// Dir is the harness's home folder, removed at the end of the test.
	Dir string
	// Argv starts the harness in its protocol mode.
	Argv []string
	// Env is the whole environment: the process's own, less every variable that could
	// reach a real account or change the harness, plus the home. The folder of the
	// executable comes first in PATH, so that a launch by bare name finds this version.
	Env []string
	// JSONRPC says that every message carries the member jsonrpc.
	JSONRPC bool
}

// keepForTest makes a home in lab/home and removes it at the end of the test.
func keepForTest(tb TB, create func(homes string) (Home, error)) Home {
	tb.Helper()
	homes, err := homesFolder()
	if err != nil {
		tb.Fatalf("%v", err)
		return Home{}
	}
	home, err := create(homes)
	if home.Dir != "" {
		tb.Cleanup(func() {
			if os.Getenv("AO_LAB_KEEP") == "1" && tb.Failed() {
				tb.Logf("kept %s", home.Dir)
				return
			}
			if err := removeAll(home.Dir); err != nil {
				tb.Logf("lab home left behind: %v", err)
			}
		})
	}
	if err != nil {
		tb.Fatalf("%v", err)
		return Home{}
	}
	return home
}

func homesFolder() (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	homes := filepath.Join(root, "lab", "home")
	if inTemp(homes) {
		// Codex puts no helper programs below the temp folder, and without them no
		// command runs in its sandbox. A checkout there gets its homes elsewhere.
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("lab: the checkout is in the temp folder, where Codex runs no commands, and there is no cache folder instead; set HOME: %w", err)
		}
		homes = filepath.Join(cache, "ao-host-lab", fmt.Sprintf("%x", sha256.Sum256([]byte(root)))[:12])
	}
	if err := os.MkdirAll(homes, 0o700); err != nil {
		return "", fmt.Errorf("lab: %w", err)
	}
	return homes, nil
}

// inTemp reports whether a path is below the temp folder.
func inTemp(path string) bool {
	temp := os.TempDir()
	if real, err := filepath.EvalSymlinks(temp); err == nil {
		temp = real
	}
	rel, err := filepath.Rel(temp, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// labEnv is the environment of a harness whose program is at path, with these variables set.
func labEnv(path string, set ...string) []string {
	set = append(set, "PATH="+filepath.Dir(path)+string(os.PathListSeparator)+os.Getenv("PATH"))
	env := slices.DeleteFunc(cleanEnv(os.Environ()), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.ContainsFunc(set, func(mine string) bool { return strings.HasPrefix(mine, name+"=") })
	})
	return append(env, set...)
}

// cleanEnv drops what could reach a real account, point elsewhere, or be told to a harness by mistake.
func cleanEnv(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		upper := strings.ToUpper(name)
		for _, prefix := range []string{"CODEX_", "OPENAI_", "ANTHROPIC_", "CLAUDE", "XAI_", "GROK_", "AO_", "AWS_", "AZURE_", "PATH"} {
			if strings.HasPrefix(upper, prefix) {
				return true
			}
		}
		for _, part := range []string{"_PROXY", "TOKEN", "SECRET", "PASSWORD", "API_KEY", "CREDENTIAL"} {
			if strings.Contains(upper, part) {
				return true
			}
		}
		return false
	})
}

// removeAll removes a home whose harness may still be writing its last files.
func removeAll(dir string) (err error) {
	for range 5 {
		if err = os.RemoveAll(dir); err == nil {
			return nil
		}
	}
	return err
}
