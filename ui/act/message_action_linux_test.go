package act

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// The opener gets the URL as its only argument, and runs only on a desktop.
func TestOpenOnDesktop(t *testing.T) {
	const url = "https://h/a%20b?c=$(id)&d='x'"
	dir := t.TempDir()
	seen := filepath.Join(dir, "seen")
	script := "#!/bin/sh\nprintf '%s %s' \"$#\" \"$1\" > '" + seen + "'\n"
	must.Do(t, os.WriteFile(filepath.Join(dir, "xdg-open"), []byte(script), 0o700))
	t.Setenv("PATH", dir)

	for _, env := range [][3]string{{"", "", ""}, {":0", "", "10.0.0.1 1 10.0.0.2 22"}} {
		t.Setenv("DISPLAY", env[0])
		t.Setenv("WAYLAND_DISPLAY", env[1])
		t.Setenv("SSH_CONNECTION", env[2])
		err := openOnDesktop(t.Context(), url)
		assert.That(t, errors.Is(err, ErrNoDesktop), "%q: %v", env, err)
	}

	t.Setenv("SSH_CONNECTION", "")
	must.Do(t, openOnDesktop(t.Context(), url))
	text, err := os.ReadFile(seen)
	must.Do(t, err)
	assert.Equal(t, string(text), "1 "+url, "it got %q, %v", text, err)
}
