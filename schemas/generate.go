package schemas

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// GenerateOptions say what to generate and where to.
type GenerateOptions struct {
	// Provider is one of [Providers].
	Provider string
	// Command runs the provider, or npm where the schemas are files of a published
	// package; its first word is a program. Empty means the usual command from
	// PATH.
	Command []string
	// PackageVersion is the version of a published package to get, empty for the
	// newest. PackageDir is the folder of an installed copy to read instead; then
	// nothing is run. A provider that is a program of its own ignores both.
	PackageVersion string
	PackageDir     string
	// Out is the folder that gets <provider>/<version>/bundle.json and
	// provenance.json. Empty: nothing is written.
	Out string
	// Now dates the provenance; nil means time.Now.
	Now func() time.Time
	// Timeout bounds each run of the provider; 0 means one minute.
	Timeout time.Duration
}

// Generate runs the provider's own schema generator in a folder of its own,
// normalises what it wrote and writes the bundle. When the same bundle is already
// there its provenance is left alone, so that generating again changes nothing.
//
// Errors have the codes [CodeProviderUnknown], [CodeGeneratorFailed] (it could
// not be run; the message has the end of what it printed) and
// [CodeGeneratorOutput] (what it wrote has another shape than expected).
func Generate(ctx context.Context, opts GenerateOptions) (Bundle, error) {
	p, err := findProvider(opts.Provider)
	if err != nil {
		return Bundle{}, err
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Timeout == 0 {
		opts.Timeout = time.Minute
	}
	run := runner{command: opts.Command, timeout: opts.Timeout, version: opts.PackageVersion, packageDir: opts.PackageDir}
	if len(run.command) == 0 {
		run.command = p.command
	}
	run.dir, err = os.MkdirTemp("", "ao-schemas-")
	if err != nil {
		return Bundle{}, fmt.Errorf("schemas: %w", err)
	}
	defer func() { _ = os.RemoveAll(run.dir) }()

	src, err := p.fetch(ctx, run)
	if err != nil {
		return Bundle{}, err
	}
	b, notes, err := p.normalise(src)
	if err != nil {
		return Bundle{}, err
	}
	sourceDigest, err := digestFiles(src.files)
	if err != nil {
		return Bundle{}, fmt.Errorf("schemas: %w", err)
	}
	b.Provenance = Provenance{
		Provider: p.id, Package: p.pkg, Version: src.version, Command: src.commandLine,
		Generated:    opts.Now().UTC().Format(time.DateOnly),
		SourceDigest: sourceDigest,
		Licence:      p.licence,
		Changes:      p.changes,
		Notes:        notes,
	}
	text, err := b.Encode()
	if err != nil {
		return Bundle{}, err
	}
	b.Provenance.Digest = digest(text)
	if err := b.checkReferences(); err != nil {
		return Bundle{}, err
	}
	if opts.Out == "" {
		return b, nil
	}
	return b, writeBundle(filepath.Join(opts.Out, p.id, src.version), text, b.Provenance)
}

func writeBundle(dir string, bundle []byte, prov Provenance) error {
	var old Provenance
	if b, err := os.ReadFile(filepath.Join(dir, ProvenanceFile)); err == nil && json.Unmarshal(b, &old) == nil {
		same := old
		same.Generated = prov.Generated
		a, _ := encodePlain(same)
		z, _ := encodePlain(prov)
		have, _ := os.ReadFile(filepath.Join(dir, BundleFile))
		if bytes.Equal(a, z) && bytes.Equal(have, bundle) {
			return nil
		}
	}
	text, err := json.MarshalIndent(prov, "", "  ")
	if err != nil {
		return fmt.Errorf("schemas: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("schemas: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, BundleFile), bundle, 0o644); err != nil {
		return fmt.Errorf("schemas: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, ProvenanceFile), append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("schemas: %w", err)
	}
	return nil
}

// digestFiles is the SHA-256 over the names and contents of all files, in order
// of their names.
func digestFiles(files fs.FS) (string, error) {
	h := sha256.New()
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(b)
		_, err = fmt.Fprintf(h, "%s  %s\n", hex.EncodeToString(sum[:]), path)
		return err
	})
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), err
}

// runner runs a provider's program in a folder of its own.
type runner struct {
	command []string
	dir     string
	timeout time.Duration
	// version and packageDir are the options of the same name.
	version, packageDir string
}

// run starts the program with further arguments and returns its stdout. Its home
// folder is the temporary one: a generator reads no configuration of the person
// who runs it, and leaves nothing behind.
func (r runner) run(ctx context.Context, homeVar string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	home := filepath.Join(r.dir, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, fmt.Errorf("schemas: %w", err)
	}
	argv := append(append([]string{}, r.command...), args...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "HOME="+home, homeVar+"="+home)
	cmd.WaitDelay = time.Second
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return nil, failf(CodeGeneratorFailed, err, "%q is not installed; install the provider, or give the command that runs it with --launch", argv[0])
		}
		tail := strings.TrimSpace(stderr.String())
		if len(tail) > 500 {
			tail = "…" + tail[len(tail)-500:]
		}
		return nil, failf(CodeGeneratorFailed, err, "%q failed; run it by hand to see why. It printed: %s", strings.Join(argv, " "), tail)
	}
	return out.Bytes(), nil
}
