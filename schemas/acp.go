package schemas

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// acpProvider reads the schema files of the Agent Client Protocol that its SDK
// package publishes. It is no harness: the bundles of the harnesses that speak
// ACP extend this one; see [Provenance.Extends].
var acpProvider = provider{
	id: "acp", pkg: acpPackage, licence: acpLicence,
	command:   []string{"npm"},
	fetch:     acpFetch,
	normalise: acpNormalise,
	changes: "The stable and the unstable schema joined into one, the unstable definitions taken; titles, descriptions and " +
		"documentation keywords removed; the envelopes of requests and notifications replaced by a table of methods.",
}

const (
	acpPackage = "@agentclientprotocol/sdk"
	acpLicence = "Apache-2.0"
)

// The two files of protocol version 1. The unstable one repeats the stable one
// with additions.
const (
	acpStable   = "schema/v1/schema.json"
	acpUnstable = "schema/v1/schema.unstable.json"
)

// maxPackage bounds the unpacked size of a published package.
const maxPackage = 64 << 20

// acpFetch gets the published package with `npm pack`, or takes an installed
// copy of it, and keeps its schema files.
func acpFetch(ctx context.Context, r runner) (source, error) {
	files := map[string][]byte{}
	keep := []string{"package.json", acpStable, acpUnstable}
	if r.packageDir != "" {
		for _, name := range keep {
			b, err := os.ReadFile(filepath.Join(r.packageDir, filepath.FromSlash(name)))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return source{}, fmt.Errorf("schemas: %w", err)
			}
			files[name] = b
		}
	} else {
		spec := acpPackage
		if r.version != "" {
			if !validVersion(r.version) {
				return source{}, failf(CodeGeneratorFailed, nil, "%.40q is not a version of a package; name one such as 2.4.0", r.version)
			}
			spec += "@" + r.version
		}
		// Scripts of a package are never run; only its files are wanted.
		if _, err := r.run(ctx, "npm_config_cache", "pack", spec, "--ignore-scripts", "--pack-destination", r.dir); err != nil {
			return source{}, err
		}
		archives, err := filepath.Glob(filepath.Join(r.dir, "*.tgz"))
		if err != nil || len(archives) != 1 {
			return source{}, failf(CodeGeneratorOutput, err, "%d archives came of packing %s instead of one; is the command npm?", len(archives), spec)
		}
		if err := unpackFiles(archives[0], keep, files); err != nil {
			return source{}, err
		}
	}
	var about struct {
		Name, Version, License string
	}
	if err := json.Unmarshal(files["package.json"], &about); err != nil || about.Name != acpPackage || !validVersion(about.Version) {
		return source{}, failf(CodeGeneratorOutput, err, "this is not the package %s; name the folder of an installed copy, or none to get it with npm", acpPackage)
	}
	if about.License != acpLicence {
		return source{}, failf(CodeGeneratorOutput, nil, "the package has the licence %.40q and not %s any more; read it before taking its schemas", about.License, acpLicence)
	}
	out := filepath.Join(r.dir, "files")
	for _, name := range keep[1:] {
		if files[name] == nil {
			return source{}, failf(CodeGeneratorOutput, nil, "version %s of the package has no %s; this version of the provider needs a newer ao-host", about.Version, name)
		}
		file := filepath.Join(out, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return source{}, fmt.Errorf("schemas: %w", err)
		}
		if err := os.WriteFile(file, files[name], 0o600); err != nil {
			return source{}, fmt.Errorf("schemas: %w", err)
		}
	}
	return source{
		version:     about.Version,
		commandLine: []string{"npm", "pack", acpPackage + "@" + about.Version},
		files:       os.DirFS(out),
	}, nil
}

// unpackFiles reads the named files out of an archive that npm made, in which
// every name begins with "package/".
func unpackFiles(archive string, names []string, into map[string][]byte) error {
	f, err := os.Open(archive)
	if err != nil {
		return fmt.Errorf("schemas: %w", err)
	}
	defer func() { _ = f.Close() }()
	zr, err := gzip.NewReader(f)
	if err != nil {
		return failf(CodeGeneratorOutput, err, "the package is no archive; get it again")
	}
	tr := tar.NewReader(io.LimitReader(zr, maxPackage))
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return failf(CodeGeneratorOutput, err, "the package is damaged or larger than %d bytes; get it again", maxPackage)
		}
		name := strings.TrimPrefix(h.Name, "package/")
		if h.Typeflag != tar.TypeReg || !slices.Contains(names, name) {
			continue
		}
		if into[name], err = io.ReadAll(tr); err != nil {
			return failf(CodeGeneratorOutput, err, "the package is damaged or larger than %d bytes; get it again", maxPackage)
		}
	}
}

// acpSchema is one of the two files.
type acpSchema struct {
	Dialect string         `json:"$schema"`
	Defs    map[string]any `json:"$defs"`
}

func acpRead(files fs.FS, name string) (acpSchema, error) {
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return acpSchema{}, fmt.Errorf("schemas: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var s acpSchema
	if err := dec.Decode(&s); err != nil || len(s.Defs) == 0 {
		return acpSchema{}, failf(CodeGeneratorOutput, err, "%s has no $defs; this version of the provider needs a newer ao-host", name)
	}
	return s, nil
}

// acpRow says which part of a method a definition is.
type acpRow struct {
	method, side string
	kind         Kind
}

// acpRows reads the annotations x-method and x-side, by definition.
func acpRows(defs map[string]any) (map[string]acpRow, error) {
	rows := map[string]acpRow{}
	for _, name := range sortedKeys(defs) {
		s, _ := defs[name].(map[string]any)
		method, _ := s["x-method"].(string)
		if method == "" {
			continue
		}
		row := acpRow{method: method}
		row.side, _ = s["x-side"].(string)
		for suffix, kind := range map[string]Kind{"Request": Request, "Notification": Notification, "Response": Result} {
			if strings.HasSuffix(name, suffix) {
				row.kind = kind
			}
		}
		if !slices.Contains([]string{"agent", "client", "protocol", "proxy"}, row.side) || row.kind == 0 {
			return nil, failf(CodeGeneratorOutput, nil, "%s of side %.40q is no request, notification or response of a known side; this version of the provider needs a newer ao-host", name, row.side)
		}
		rows[name] = row
	}
	if len(rows) == 0 {
		return nil, failf(CodeGeneratorOutput, nil, "no definition of the schema names its method; this version of the provider needs a newer ao-host")
	}
	return rows, nil
}

func acpNormalise(src source) (Bundle, []string, error) {
	stable, err := acpRead(src.files, acpStable)
	if err != nil {
		return Bundle{}, nil, err
	}
	all, err := acpRead(src.files, acpUnstable)
	if err != nil {
		return Bundle{}, nil, err
	}
	stableRows, err := acpRows(stable.Defs)
	if err != nil {
		return Bundle{}, nil, err
	}
	rows, err := acpRows(all.Defs)
	if err != nil {
		return Bundle{}, nil, err
	}
	for _, name := range sortedKeys(stable.Defs) {
		if all.Defs[name] == nil {
			return Bundle{}, nil, failf(CodeGeneratorOutput, nil, "%s is in %s only; this version of the provider needs a newer ao-host", name, acpStable)
		}
	}

	b := Bundle{Dialect: all.Dialect}
	var notes []string
	results := map[string]string{}
	for name, row := range rows {
		if row.kind == Result {
			results[row.method] = name
		}
	}
	var proxied []string
	defs := map[string]any{}
	rename := func(ref string) string { return refPrefix + strings.TrimPrefix(ref, "#/$defs/") }
	for _, name := range sortedKeys(all.Defs) {
		row, isMethod := rows[name]
		if isMethod && row.side == "proxy" {
			// Between a proxy and its conductor, never between a client and an agent.
			if !slices.Contains(proxied, row.method) {
				proxied = append(proxied, row.method)
			}
			continue
		}
		required, _ := all.Defs[name].(map[string]any)["required"].([]any)
		defs[name] = normaliseSchema(all.Defs[name], rename)
		if !isMethod || row.kind == Result {
			continue
		}
		directions := map[string][]Direction{
			"agent": {ToProvider}, "client": {FromProvider}, "protocol": {ToProvider, FromProvider},
		}[row.side]
		for _, dir := range directions {
			m := Method{Name: row.method, Direction: dir, Kind: row.kind, Params: reference(name), ParamsOptional: len(required) == 0}
			_, inStable := stableRows[name]
			m.Experimental = !inStable
			if row.kind == Request {
				result, ok := results[row.method]
				if !ok {
					return Bundle{}, nil, failf(CodeGeneratorOutput, nil, "the request %s has no response; this version of the provider needs a newer ao-host", row.method)
				}
				m.Result = acpResult(result, all.Defs[result], dir)
			}
			b.Methods = append(b.Methods, m)
		}
	}
	if len(proxied) > 0 {
		slices.Sort(proxied)
		notes = append(notes, "Left out because neither a client nor an agent sends them: "+strings.Join(proxied, ", ")+".")
	}
	notes = append(notes, "Where a response of the agent has no required member, null is accepted too: agents of before the responses became objects send it.")
	if b.Definitions, err = encodeAll(defs); err != nil {
		return Bundle{}, nil, err
	}
	// What no method leads to are the envelopes of JSON-RPC, which say nothing of a
	// payload.
	reached, err := closure(&b, b.Methods)
	if err != nil {
		return Bundle{}, nil, err
	}
	maps.DeleteFunc(b.Definitions, func(name string, _ json.RawMessage) bool { return !slices.Contains(reached, name) })
	slices.SortFunc(b.Methods, compareMethods)
	return b, notes, nil
}

// acpResult is the schema of a request's result.
func acpResult(name string, def any, request Direction) json.RawMessage {
	s, _ := def.(map[string]any)
	if required, _ := s["required"].([]any); len(required) > 0 || request == FromProvider {
		return reference(name)
	}
	return json.RawMessage(`{"anyOf":[` + string(reference(name)) + `,{"type":"null"}]}`)
}

func reference(name string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"$ref":%q}`, refPrefix+name))
}
