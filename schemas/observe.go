package schemas

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Observation says how to infer the schemas of what a harness sends beside the
// protocol it speaks. It is a JSON file that is committed beside the recordings.
type Observation struct {
	// File is where it was read from, relative to the root.
	File string `json:"-"`
	// Provider is the harness id, Version its version and Package what it is
	// published as.
	Provider string `json:"provider"`
	Version  string `json:"version"`
	Package  string `json:"package"`
	// Extends is the bundle of the protocol; its digest is left empty.
	Extends Reference `json:"extends"`
	// Recordings are folders of recordings of that version, with slashes, relative
	// to the root of the checkout. There may be none: then the harness sends
	// nothing beside the protocol.
	Recordings []string `json:"recordings"`
	// Noted are folders of frames in the form of recordings that were written down
	// from notes of a run that was not kept.
	Noted []string `json:"noted,omitempty"`
	// Forms are members that tell the forms of an object apart; Values are members
	// with a fixed set of words, of which the recordings show some.
	Forms  []string `json:"forms,omitempty"`
	Values []string `json:"values,omitempty"`
	// Unprefixed: every method that begins with this also comes without it.
	Unprefixed string `json:"unprefixed,omitempty"`
	// Licence is the SPDX id of the licence of the recordings.
	Licence string `json:"licence"`
	// Notes go into the provenance.
	Notes []string `json:"notes,omitempty"`
}

// ReadObservations reads the observations (*.json) of a folder under the root, in
// the order of their names.
func ReadObservations(root fs.FS, folder string) ([]Observation, error) {
	files, err := fs.Glob(root, path.Join(folder, "*.json"))
	if err != nil {
		return nil, err
	}
	var list []Observation
	for _, file := range files {
		o, err := ReadObservation(root, file)
		if err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	return list, nil
}

// ReadObservation reads one observation and refuses members it does not know.
// Errors have the code [CodeObservationInvalid].
func ReadObservation(root fs.FS, file string) (Observation, error) {
	text, err := fs.ReadFile(root, file)
	if err != nil {
		return Observation{}, failf(CodeObservationInvalid, err, "%.80q cannot be read; name an observation relative to the root and with slashes", file)
	}
	o := Observation{File: file}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&o); err != nil {
		return Observation{}, failf(CodeObservationInvalid, err, "%s is not an observation; see schemas/README.md for its members", file)
	}
	for what, ok := range map[string]bool{
		"provider": validProvider(o.Provider), "version": validVersion(o.Version), "package": o.Package != "",
		"extends": validProvider(o.Extends.Provider) && validVersion(o.Extends.Version), "licence": o.Licence != "",
	} {
		if !ok {
			return Observation{}, failf(CodeObservationInvalid, nil, "%s has no valid %q; see schemas/README.md for its members", file, what)
		}
	}
	return o, nil
}

func validProvider(id string) bool { return id != "" && !strings.ContainsAny(id, "./") }

// ObserveOptions say where things are.
type ObserveOptions struct {
	// Root holds the recordings, Tree the bundle that is extended.
	Root, Tree fs.FS
	// Out is the folder that gets <provider>/<version>/, and the bundle that is
	// extended if it is not there yet, so that it can be packed from. Empty: nothing
	// is written.
	Out string
	// Now dates the provenance; nil means time.Now.
	Now func() time.Time
}

// Observe infers the bundle of an observation from its recordings: one row for
// every method that the protocol's own bundle does not have, marked observed. The
// schemas accept what was seen and what is like it. Only the member that tells
// forms apart is required and no text is limited to what was seen, because a few
// runs do not show what must be. The same recordings give the same bundle.
//
// The bundle has the provider's own part only; [Read] joins it with the
// protocol's. Errors have the codes [CodeObservationInvalid],
// [CodeRecordingInvalid] and [CodeBundleInvalid].
func Observe(o Observation, opts ObserveOptions) (Bundle, error) {
	base, err := Read(opts.Tree, o.Extends.Provider, o.Extends.Version)
	if err != nil {
		return Bundle{}, err
	}
	w := watcher{inf: inference{forms: o.Forms, values: o.Values}, base: &base, rows: map[methodKey]*watched{}}
	for _, folder := range o.Recordings {
		if err := w.read(opts.Root, folder, false); err != nil {
			return Bundle{}, err
		}
	}
	for _, folder := range o.Noted {
		if err := w.read(opts.Root, folder, true); err != nil {
			return Bundle{}, err
		}
	}
	b := Bundle{Dialect: base.Dialect, Definitions: map[string]json.RawMessage{}}
	if b.Methods, err = w.methods(o); err != nil {
		return Bundle{}, err
	}
	ext := o.Extends
	ext.Digest = base.Provenance.Digest
	if opts.Now == nil {
		opts.Now = time.Now
	}
	b.Provenance = Provenance{
		Provider: o.Provider, Package: o.Package, Version: o.Version, Command: []string{"ao-host", "schemas", "observe", o.File, "-o", "OUT"},
		Generated:    opts.Now().UTC().Format(time.DateOnly),
		SourceDigest: digestRecorded(w.sources),
		Licence:      o.Licence,
		Changes:      "Inferred from recorded frames; nothing of the provider's own files is in it.",
		Notes:        slices.Concat(w.notes(), o.Notes),
		Extends:      &ext,
	}
	text, err := b.Encode()
	if err != nil {
		return Bundle{}, err
	}
	b.Provenance.Digest = digest(text)
	if _, err := b.extend(base); err != nil {
		return Bundle{}, err
	}
	if opts.Out == "" {
		return b, nil
	}
	if err := writeBase(opts.Out, &base); err != nil {
		return Bundle{}, err
	}
	return b, writeBundle(filepath.Join(opts.Out, o.Provider, o.Version), text, b.Provenance)
}

func writeBase(out string, base *Bundle) error {
	dir := filepath.Join(out, base.Provenance.Provider, base.Provenance.Version)
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, err := base.Encode()
	if err != nil {
		return err
	}
	return writeBundle(dir, text, base.Provenance)
}

// watcher collects the methods that the protocol does not publish.
type watcher struct {
	inf     inference
	base    *Bundle
	rows    map[methodKey]*watched
	sources []recordedFile
}

type watched struct {
	params, result sampled
	// bare: it was seen without params.
	bare bool
	// recorded: it is in a real recording.
	recorded bool
	answers  int
}

type recordedFile struct {
	name string
	text []byte
}

func (w *watcher) read(root fs.FS, folder string, noted bool) error {
	sub, err := fs.Sub(root, path.Clean(folder))
	if err != nil {
		return failf(CodeObservationInvalid, err, "%.80q is not a folder under the root; write it relative and with slashes", folder)
	}
	list, err := ReadRecordings(sub)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return failf(CodeObservationInvalid, nil, "there are no recordings in %.80q; record some or leave the folder out", folder)
	}
	names, err := fs.Glob(sub, "*.ndjson")
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := fs.ReadFile(sub, name)
		if err != nil {
			return err
		}
		w.sources = append(w.sources, recordedFile{path.Join(path.Clean(folder), name), text})
	}
	for _, r := range list {
		if err := w.add(r, noted); err != nil {
			return err
		}
	}
	return nil
}

func (w *watcher) add(r Recorded, noted bool) error {
	k := methodKey{r.Method, r.Direction, r.Kind}
	if r.Kind == Result || r.Kind == ErrorObject {
		k.dir, k.kind = r.Direction.reverse(), Request
	}
	if _, ok := w.base.Method(k.name, k.dir, k.kind); ok {
		return nil
	}
	row := w.rows[k]
	if row == nil {
		row = &watched{}
		w.rows[k] = row
	}
	row.recorded = row.recorded || !noted
	if r.Kind == ErrorObject {
		return nil
	}
	if len(r.Body) == 0 {
		row.bare = true
		return nil
	}
	var v any
	if err := json.Unmarshal(r.Body, &v); err != nil {
		return failf(CodeRecordingInvalid, err, "line %d of %s is not a recorded frame; record it again", r.Line, r.File)
	}
	if r.Kind == Result {
		row.answers++
		row.result.add(v, w.inf)
	} else {
		row.params.add(v, w.inf)
	}
	return nil
}

// methods makes the rows of the method table.
func (w *watcher) methods(o Observation) ([]Method, error) {
	var out []Method
	for k, row := range w.rows {
		m := Method{Name: k.name, Direction: k.dir, Kind: k.kind, Observed: true}
		if row.params.types != 0 {
			params, err := row.params.payload(w.inf)
			if err != nil {
				return nil, err
			}
			m.Params, m.ParamsOptional = params, row.bare
		}
		if row.answers > 0 {
			result, err := row.result.payload(w.inf)
			if err != nil {
				return nil, err
			}
			m.Result = result
		}
		out = append(out, m)
		if bare, ok := strings.CutPrefix(k.name, o.Unprefixed); ok && o.Unprefixed != "" {
			m.Name = bare
			if _, inBase := w.base.Method(bare, k.dir, k.kind); !inBase {
				out = append(out, m)
			}
		}
	}
	slices.SortFunc(out, compareMethods)
	for i := 1; i < len(out); i++ {
		if compareMethods(out[i-1], out[i]) == 0 {
			return nil, failf(CodeObservationInvalid, nil, "%q was seen with and without the prefix %q; leave the prefix out", out[i].Name, o.Unprefixed)
		}
	}
	return out, nil
}

// notes says which methods are in no real recording.
func (w *watcher) notes() []string {
	var names []string
	for k, row := range w.rows {
		if !row.recorded && !slices.Contains(names, k.name) {
			names = append(names, k.name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return []string{"Written down from notes and in no recording: " + strings.Join(names, ", ") + "."}
}

// digestRecorded is the digest of the files a bundle was inferred from.
func digestRecorded(files []recordedFile) string {
	var list bytes.Buffer
	for _, f := range files {
		fmt.Fprintf(&list, "%s  %s\n", strings.TrimPrefix(digest(f.text), "sha256:"), f.name)
	}
	return digest(list.Bytes())
}
