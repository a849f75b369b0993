package module

import (
	"strconv"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/jsonwire"
)

// ReadManifest returns the manifest of a module. It is decoded strictly: a
// member that is unknown, missing, repeated or of another type is a problem with
// its path. Its values are judged by [Validate].
func ReadManifest(wasm []byte) (abi.Manifest, error) {
	data, count, err := find(wasm, abi.SectionManifest)
	if err != nil {
		return abi.Manifest{}, err
	}
	switch {
	case count == 0:
		return abi.Manifest{}, &Error{Code: CodeManifestMissing,
			Text: "the module has no " + abi.SectionManifest + " section; add it with: ao-host bindings pack"}
	case count > 1:
		// Two readers must never disagree about what was granted.
		return abi.Manifest{}, invalid("the module has " + strconv.Itoa(count) + " " + abi.SectionManifest + " sections; pack it again")
	}
	return DecodeManifest(data)
}

// DecodeManifest decodes the JSON of a manifest as [ReadManifest] does.
func DecodeManifest(data []byte) (abi.Manifest, error) {
	if len(data) > abi.MaxManifestBytes {
		return abi.Manifest{}, invalid("the manifest has " + strconv.Itoa(len(data)) + " bytes; at most " + strconv.Itoa(abi.MaxManifestBytes) + " are read")
	}
	var m abi.Manifest
	var d jsonwire.Decoder
	d.Reset(data)
	m.DecodeJSON(&d)
	if !d.End() {
		return abi.Manifest{}, invalid("the manifest is not JSON: it breaks near byte " + strconv.Itoa(syntaxOffset(data)))
	}
	// A manifest for a newer ABI may well hold members that this host does not
	// know. The reason to name is the version then, not the members (D10).
	if err := checkABI(m.ABI); err != nil {
		return abi.Manifest{}, err
	}
	var p problems
	checkShape(&p, data)
	if err := p.err(); err != nil {
		return abi.Manifest{}, err
	}
	return m, nil
}

// ReadSchemas returns the content of the ao.schemas section, compressed as it is.
// It aliases the module.
func ReadSchemas(wasm []byte) ([]byte, error) {
	data, count, err := find(wasm, abi.SectionSchemas)
	switch {
	case err != nil:
		return nil, err
	case count == 0:
		return nil, &Error{Code: CodeSchemasMissing,
			Text: "the module has no " + abi.SectionSchemas + " section; add it with: ao-host bindings pack"}
	case count > 1:
		return nil, &Error{Code: CodeSchemasInvalid,
			Text: "the module has " + strconv.Itoa(count) + " " + abi.SectionSchemas + " sections; pack it again"}
	}
	return data, nil
}

func invalid(text string) error { return &Error{Code: CodeManifestInvalid, Text: text} }
