package schemas

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// codexProvider reads the schemas that `codex app-server generate-json-schema`
// writes. With --experimental it gives collaborationMode and others that a
// binding needs; without, it tells which methods are stable.
var codexProvider = provider{
	id: "codex", pkg: "@openai/codex", licence: "Apache-2.0",
	command:   []string{"codex"},
	fetch:     codexFetch,
	normalise: codexNormalise,
	changes: "All files joined into one; titles, descriptions and examples removed; the envelopes of requests and " +
		"notifications replaced by a table of methods.",
}

// codexFile is the file that holds all definitions; the other 480 repeat them
// one by one.
const codexFile = "codex_app_server_protocol.schemas.json"

// codexUnions are the definitions that list the methods, and what they mean.
var codexUnions = []struct {
	name string
	dir  Direction
	kind Kind
}{
	{"ClientRequest", ToProvider, Request},
	{"ClientNotification", ToProvider, Notification},
	{"ServerRequest", FromProvider, Request},
	{"ServerNotification", FromProvider, Notification},
}

// codexResults names the result of the requests for which the rule of
// [codexResult] finds none, because they take no params or their result has a
// name of its own. The generator does not connect requests with results; these
// were read off the names that are left over, and a test makes sure that no
// result is left over in a committed bundle.
var codexResults = map[string]string{
	"account/gatewayOAuth/cancel":              "GatewayOAuthCancelResponse",
	"account/logout":                           "LogoutAccountResponse",
	"account/rateLimits/read":                  "GetAccountRateLimitsResponse",
	"account/securitySetup/read":               "GetAccountSecuritySetupResponse",
	"account/workspaceMessages/read":           "GetWorkspaceMessagesResponse",
	"accountSession/list":                      "AccountSessionsResponse",
	"config/batchWrite":                        "ConfigWriteResponse",
	"config/mcpServer/reload":                  "McpServerRefreshResponse",
	"config/value/write":                       "ConfigWriteResponse",
	"configRequirements/read":                  "ConfigRequirementsReadResponse",
	"externalAgentConfig/import/readHistories": "ExternalAgentConfigImportHistoriesReadResponse",
	"memory/reset":                             "MemoryResetResponse",
	"remoteControl/status/read":                "RemoteControlStatusReadResponse",
	"rollout/compress":                         "RolloutCompressResponse",
	"windowsSandbox/readiness":                 "WindowsSandboxReadinessResponse",
}

func codexFetch(ctx context.Context, r runner) (source, error) {
	const homeVar = "CODEX_HOME"
	out, err := r.run(ctx, homeVar, "--version")
	if err != nil {
		return source{}, err
	}
	// It prints "codex-cli 0.171.0".
	fields := strings.Fields(string(out))
	if len(fields) == 0 || !validVersion(fields[len(fields)-1]) {
		return source{}, failf(CodeGeneratorOutput, nil, "the version %.80q is not one; is the command Codex?", bytes.TrimSpace(out))
	}
	src := source{
		version:     fields[len(fields)-1],
		commandLine: []string{"codex", "app-server", "generate-json-schema", "--experimental", "--out", "OUT"},
	}
	all, stable := filepath.Join(r.dir, "all"), filepath.Join(r.dir, "stable")
	if _, err := r.run(ctx, homeVar, "app-server", "generate-json-schema", "--experimental", "--out", all); err != nil {
		return source{}, err
	}
	if _, err := r.run(ctx, homeVar, "app-server", "generate-json-schema", "--out", stable); err != nil {
		return source{}, err
	}
	src.files, src.stable = os.DirFS(all), os.DirFS(stable)
	return src, nil
}

// codexEnvelope is one branch of a union of methods.
type codexEnvelope struct {
	Properties struct {
		Method struct {
			Enum []string `json:"enum"`
		} `json:"method"`
		Params json.RawMessage `json:"params"`
	} `json:"properties"`
	Required []string `json:"required"`
}

// codexEnvelopes returns the branches of a union of methods.
func codexEnvelopes(defs map[string]json.RawMessage, union string) ([]codexEnvelope, error) {
	var u struct {
		OneOf []codexEnvelope `json:"oneOf"`
	}
	if err := json.Unmarshal(defs[union], &u); err != nil || len(u.OneOf) == 0 {
		return nil, failf(CodeGeneratorOutput, err, "%s has no list of methods in %s; this version of the provider needs a newer ao-host", codexFile, union)
	}
	for _, e := range u.OneOf {
		if len(e.Properties.Method.Enum) != 1 {
			return nil, failf(CodeGeneratorOutput, nil, "a branch of %s names no method; this version of the provider needs a newer ao-host", union)
		}
	}
	return u.OneOf, nil
}

// codexDefinitions reads the definitions of a generated folder: those at the
// root are the older and shared ones, those under v2 the rest.
func codexDefinitions(files fs.FS) (root, v2 map[string]json.RawMessage, dialect string, err error) {
	text, err := fs.ReadFile(files, codexFile)
	if err != nil {
		return nil, nil, "", failf(CodeGeneratorOutput, err, "the generator wrote no %s; this version of the provider needs a newer ao-host", codexFile)
	}
	var doc struct {
		Schema      string                     `json:"$schema"`
		Definitions map[string]json.RawMessage `json:"definitions"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, nil, "", failf(CodeGeneratorOutput, err, "%s is not a schema; this version of the provider needs a newer ao-host", codexFile)
	}
	if err := json.Unmarshal(doc.Definitions["v2"], &v2); err != nil {
		return nil, nil, "", failf(CodeGeneratorOutput, err, "%s has no v2 definitions; this version of the provider needs a newer ao-host", codexFile)
	}
	delete(doc.Definitions, "v2")
	return doc.Definitions, v2, doc.Schema, nil
}

func codexNormalise(src source) (Bundle, []string, error) {
	root, v2, dialect, err := codexDefinitions(src.files)
	if err != nil {
		return Bundle{}, nil, err
	}
	stable, err := codexStable(src.stable)
	if err != nil {
		return Bundle{}, nil, err
	}
	spaces := []definitionSpace{{prefix: refPrefix, label: "root."}, {prefix: refPrefix + "v2/", label: "v2."}}
	for i, defs := range []map[string]json.RawMessage{root, v2} {
		spaces[i].defs = map[string]any{}
		for name, raw := range defs {
			if slices.ContainsFunc(codexUnions, func(u struct {
				name string
				dir  Direction
				kind Kind
			}) bool {
				return u.name == name
			}) {
				continue
			}
			var s any
			if err := json.Unmarshal(raw, &s); err != nil {
				return Bundle{}, nil, failf(CodeGeneratorOutput, err, "definition %q is not a schema", name)
			}
			spaces[i].defs[name] = s
		}
	}
	merged, rename := mergeDefinitions(spaces)
	b := Bundle{Dialect: dialect}
	if b.Definitions, err = encodeAll(merged); err != nil {
		return Bundle{}, nil, err
	}
	var notes []string
	for _, u := range codexUnions {
		envelopes, err := codexEnvelopes(root, u.name)
		if err != nil {
			return Bundle{}, nil, err
		}
		for _, e := range envelopes {
			m := Method{
				Name: e.Properties.Method.Enum[0], Direction: u.dir, Kind: u.kind,
				ParamsOptional: !slices.Contains(e.Required, "params"),
			}
			m.Experimental = stable != nil && !stable[m.Name]
			var params any
			if len(e.Properties.Params) > 0 {
				if err := json.Unmarshal(e.Properties.Params, &params); err != nil {
					return Bundle{}, nil, failf(CodeGeneratorOutput, err, "the params of %s are not a schema", m.Name)
				}
				params = normaliseSchema(params, rename)
				if m.Params, err = encodePlain(params); err != nil {
					return Bundle{}, nil, err
				}
			}
			if u.kind == Request {
				if name := codexResult(m.Name, params, b.Definitions); name != "" {
					m.Result = reference(name)
				} else {
					notes = append(notes, "The generator does not tell the result of "+m.Name+"; it is not checked.")
				}
			}
			b.Methods = append(b.Methods, m)
		}
	}
	slices.SortFunc(b.Methods, compareMethods)
	slices.Sort(notes)
	return b, notes, nil
}

// codexStable is the set of methods in the stable files.
func codexStable(files fs.FS) (map[string]bool, error) {
	if files == nil {
		return nil, nil
	}
	root, _, _, err := codexDefinitions(files)
	if err != nil {
		return nil, err
	}
	set := map[string]bool{}
	for _, u := range codexUnions {
		envelopes, err := codexEnvelopes(root, u.name)
		if err != nil {
			return nil, err
		}
		for _, e := range envelopes {
			set[e.Properties.Method.Enum[0]] = true
		}
	}
	return set, nil
}

// codexResult names the result of a request. The rule that holds for nearly all:
// a request whose params are (or are null or) XParams has the result XResponse.
func codexResult(method string, params any, defs map[string]json.RawMessage) string {
	if name := codexResults[method]; defs[name] != nil {
		return name
	}
	s, _ := params.(map[string]any)
	ref, _ := s["$ref"].(string)
	if list, ok := s["anyOf"].([]any); ok {
		for _, x := range list {
			if b, _ := x.(map[string]any); b["$ref"] != nil {
				ref, _ = b["$ref"].(string)
			}
		}
	}
	base, ok := strings.CutSuffix(strings.TrimPrefix(ref, refPrefix), "Params")
	if name := base + "Response"; ok && defs[name] != nil {
		return name
	}
	return ""
}
