package bindingbuild_test

import (
	"context"
	"crypto/sha256"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aoagents/ao-host/abi/module"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/bindingbuild"
)

func repository(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", "..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// checkout copies what a build reads into a folder of another name, as a second
// clone would have it.
func checkout(t *testing.T, dir string) string {
	t.Helper()
	root := repository(t)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"go.mod", "go.sum", "abi", "bindings-src", "schemas"} {
		if out, err := exec.Command("cp", "-r", filepath.Join(root, part), filepath.Join(dir, part)).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return dir
}

func TestTwoCheckoutsInDifferentFoldersBuildTheSameBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("builds every binding twice; the short run leaves it to make test")
	}
	// What a developer's environment may hold must not show in the bytes.
	t.Setenv("GOFLAGS", "-trimpath=false -ldflags=-w")
	t.Setenv("GOOS", "linux")
	t.Setenv("GOEXPERIMENT", "")
	base := t.TempDir()
	var sums []map[string][32]byte
	for _, dir := range []string{filepath.Join(base, "a"), filepath.Join(base, "another place", "ünï", "deeper")} {
		built, err := bindingbuild.All(context.Background(), checkout(t, dir))
		if err != nil {
			t.Fatal(err)
		}
		sum := map[string][32]byte{}
		for name, b := range built {
			sum[name] = sha256.Sum256(b)
			m, err := module.ReadManifest(b)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := module.Validate(m); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			for _, leak := range []string{base, os.Getenv("HOME") + "/"} {
				if strings.Contains(string(b), leak) {
					t.Errorf("%s has the path %q in it", name, leak)
				}
			}
		}
		sums = append(sums, sum)
	}
	if diff := cmp.Diff(sums[0], sums[1]); diff != "" {
		t.Errorf("the two checkouts differ:\n%s", diff)
	}
}

func TestTheCommittedModulesHaveTheManifestsOfTheirSources(t *testing.T) {
	sources, err := bindingbuild.Sources(repository(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sources {
		wasm, err := os.ReadFile(filepath.Join(repository(t), "bindings-wasm", s.Name+".wasm"))
		if err != nil {
			t.Errorf("run make bindings: %v", err)
			continue
		}
		got, err := module.ReadManifest(wasm)
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
			continue
		}
		src, err := os.ReadFile(filepath.Join(s.Dir, "manifest.json"))
		if err != nil {
			t.Fatal(err)
		}
		want, err := module.DecodeManifest(src)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: run make bindings (-source +module):\n%s", s.Name, diff)
		}
	}
}

func TestCompareTellsEveryDifference(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"same.wasm": "abc", "changed.wasm": "abX", "shorter.wasm": "ab", "left.wasm": "x", "note.txt": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	built := map[string][]byte{"same.wasm": []byte("abc"), "changed.wasm": []byte("abc"), "shorter.wasm": []byte("abc"), "missing.wasm": nil}
	got, err := bindingbuild.Compare(dir, built)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"changed.wasm is not what its source builds: 3 bytes there, 3 built, first difference at byte 2.",
		"left.wasm has no source in bindings-src.",
		"missing.wasm is not there.",
		"shorter.wasm is not what its source builds: 2 bytes there, 3 built, first difference at byte 2.",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := bindingbuild.Write(dir, built); err != nil {
		t.Fatal(err)
	}
	if got, err := bindingbuild.Compare(dir, built); err != nil || len(got) > 0 {
		t.Errorf("after writing: %q, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "note.txt")); err != nil {
		t.Error("another file was removed")
	}
}

func TestAFolderThatIsNoCheckoutIsRefused(t *testing.T) {
	if _, err := bindingbuild.All(context.Background(), t.TempDir()); err == nil {
		t.Error("no error")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module x\n\ngo 1.26.0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := bindingbuild.Toolchain(dir); err == nil {
		t.Error("a go.mod without a toolchain was accepted")
	}
}
