package module

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/aoagents/ao-host/abi"
)

// Pack returns wasm with the manifest and the schemas as its last two sections.
// Sections of an earlier Pack and those that only serve a debugger are dropped;
// all else stays as it is. The manifest must be valid and is stored without white
// space; empty schemas make no section. The same input gives the same bytes.
func Pack(wasm, manifest, schemas []byte) ([]byte, error) {
	m, err := DecodeManifest(manifest)
	if err != nil {
		return nil, err
	}
	if err := Validate(m); err != nil {
		return nil, err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, manifest); err != nil {
		return nil, invalid("the manifest is not JSON: " + err.Error())
	}
	if len(wasm) < 8 {
		return nil, preamble(wasm)
	}
	out := make([]byte, 0, len(wasm)+compact.Len()+len(schemas)+64)
	out = append(out, wasm[:8]...)
	for s, err := range Sections(wasm) {
		if err != nil {
			return nil, err
		}
		if s.ID == idCustom && dropped(s.Name) {
			continue
		}
		out = append(out, wasm[s.Start:s.End]...)
	}
	out = appendCustom(out, abi.SectionManifest, compact.Bytes())
	if len(schemas) > 0 {
		out = appendCustom(out, abi.SectionSchemas, schemas)
	}
	return out, nil
}

// dropped tells custom sections that are replaced or of no use to a host: names
// and debug information, which also leak paths, and the compiler's name.
func dropped(name string) bool {
	switch name {
	case "name", "producers", "sourceMappingURL", "external_debug_info", "build_id", "go:buildid":
		return true
	}
	return strings.HasPrefix(name, "ao.") || strings.HasPrefix(name, ".debug_")
}

func appendCustom(dst []byte, name string, data []byte) []byte {
	head := append(appendLEB128(nil, len(name)), name...)
	dst = append(dst, idCustom)
	dst = appendLEB128(dst, len(head)+len(data))
	return append(append(dst, head...), data...)
}
