package kept_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/kept"
)

func TestFile(t *testing.T) {
	f := kept.File{Path: filepath.Join(t.TempDir(), "state", "dlxtop", kept.Name)}
	if text, err := f.Load(); text != nil || err != nil {
		t.Errorf("without a file it has %q: %v", text, err)
	}
	for _, want := range []string{`{"commands":["flows"]}`, "{}"} {
		must.Do(t, f.Save([]byte(want)))
		if text, err := f.Load(); string(text) != want || err != nil {
			t.Errorf("it has %q, want %q: %v", text, want, err)
		}
	}
	info, err := os.Stat(f.Path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the mode is %v: %v", info.Mode(), err)
	}
	files, err := os.ReadDir(filepath.Dir(f.Path))
	assert.That(t, len(files) == 1 && err == nil, "there are %d files beside it: %v", len(files), err)
}

func TestFileThatIsNone(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large")
	must.Do(t, os.WriteFile(large, bytes.Repeat([]byte("x"), 9<<20), 0o600))
	for _, path := range []string{dir, large} {
		text, err := (kept.File{Path: path}).Load()
		assert.That(t, err != nil, "%s has %d bytes", path, len(text))
	}
	for _, path := range []string{"", filepath.Join(large, "dlxtop", kept.Name), dir} {
		assert.That(t, (kept.File{Path: path}).Save([]byte("{}")) != nil, "%q was written", path)
	}
	files, err := os.ReadDir(filepath.Dir(dir))
	assert.That(t, err == nil && len(files) == 1, "%d files are left: %v", len(files), err)
}
