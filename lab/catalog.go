package lab

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// templateModel is the entry of Codex's own catalog that the mock models are made from:
// in both pinned versions it works with plain function calls, unlike the newer models,
// which talk to a code runner.
const templateModel = "gpt-5.5"

// codexCatalog writes a model catalog for h into homes, made from the one inside the
// binary, and returns its path. It is made once per version and recipe and then reused.
func codexCatalog(h Harness, homes string) (string, error) {
	path := filepath.Join(homes, fmt.Sprintf("catalog-codex-%s-%x.json", h.Version, catalogRecipe()))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	scratch, err := os.MkdirTemp(homes, "catalog-")
	if err != nil {
		return "", fmt.Errorf("lab: %w", err)
	}
	defer func() { _ = removeAll(scratch) }() // a leftover in the ignored folder harms nothing
	cmd := exec.Command(h.Path, "debug", "models")
	cmd.Env = append(cleanEnv(os.Environ()), "CODEX_HOME="+scratch, "PATH="+os.Getenv("PATH"))
	cmd.Dir = scratch
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("lab: codex %s debug models: %w: %s", h.Version, err, stderr.String())
	}
	catalog, err := mockCatalog(out)
	if err != nil {
		return "", fmt.Errorf("lab: codex %s: %w", h.Version, err)
	}
	tmp := filepath.Join(scratch, "catalog.json")
	if err := os.WriteFile(tmp, catalog, 0o600); err != nil {
		return "", fmt.Errorf("lab: %w", err)
	}
	if err := os.Rename(tmp, path); err != nil { // by rename: tests of several packages start at once
		return "", fmt.Errorf("lab: %w", err)
	}
	return path, nil
}

type mockModel struct {
	Slug, Title string
	Efforts     []string
	Visibility  string
}

var mockModels = []mockModel{
	{MockModel, "Mock", []string{"low", "medium", "high"}, "list"},
	{MockPlainModel, "Mock Plain", []string{"low"}, "list"},
	{MockHiddenModel, "Mock Hidden", []string{"low", "medium"}, "hide"},
	// Codex asks this one to review approvals when approvals_reviewer is auto_review.
	{"codex-auto-review", "Mock Reviewer", []string{"low", "medium", "high"}, "hide"},
}

// catalogRecipe changes when mockCatalog would write something else.
func catalogRecipe() []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "3 %s %v", templateModel, mockModels))
	return sum[:4]
}

// mockCatalog turns Codex's catalog into one of mock models.
func mockCatalog(real []byte) ([]byte, error) {
	var catalog struct {
		Models []map[string]any `json:"models"`
	}
	if err := json.Unmarshal(real, &catalog); err != nil {
		return nil, fmt.Errorf("unreadable model catalog: %w", err)
	}
	var template map[string]any
	for _, m := range catalog.Models {
		if m["slug"] == templateModel {
			template = m
		}
	}
	if template == nil {
		return nil, fmt.Errorf("the catalog has no model %s to make the mock models from; choose another in lab/catalog.go", templateModel)
	}
	out := make([]map[string]any, 0, len(mockModels))
	for i, mock := range mockModels {
		m := map[string]any{}
		for k, v := range template {
			m[k] = v
		}
		levels := make([]map[string]string, len(mock.Efforts))
		for j, e := range mock.Efforts {
			levels[j] = map[string]string{"effort": e, "description": "Effort " + e}
		}
		m["slug"], m["display_name"], m["description"] = mock.Slug, mock.Title, "A scripted model."
		m["supported_reasoning_levels"], m["default_reasoning_level"] = levels, mock.Efforts[0]
		m["visibility"], m["priority"], m["upgrade"] = mock.Visibility, i+1, nil
		m["supports_search_tool"] = false // every tool is offered at once, none has to be searched for
		m["experimental_supported_tools"] = []string{"request_user_input_async"}
		m["base_instructions"] = "You are a scripted model."
		delete(m, "model_messages")
		out = append(out, m)
	}
	return json.Marshal(map[string]any{"models": out})
}
