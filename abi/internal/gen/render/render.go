package render

import (
	"fmt"
	"io/fs"
)

// File is one derived file.
type File struct {
	// Name is relative to the folder of package abi.
	Name string
	Data []byte
}

// All renders every derived file of the package in dir. Files that are only
// partly derived (ABI.md) are read from dir and returned whole.
func All(dir fs.FS) ([]File, error) {
	m, err := Load(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"Event", "Effect", "Manifest"} {
		if m.Struct(name) == nil {
			return nil, fmt.Errorf("package abi declares no wire type %s", name)
		}
	}
	var files []File
	for _, r := range []struct {
		name   string
		render func(*Model) ([]byte, error)
	}{
		{"codec_gen.go", codec},
		{"guest/effects_gen.go", guestEffects},
		{"abi.schema.json", schema},
		{"ABI.md", func(m *Model) ([]byte, error) {
			doc, err := fs.ReadFile(dir, "ABI.md")
			if err != nil {
				return nil, err
			}
			return tables(m, doc)
		}},
	} {
		data, err := r.render(m)
		if err != nil {
			return nil, err
		}
		files = append(files, File{Name: r.name, Data: data})
	}
	return files, nil
}
