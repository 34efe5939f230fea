//go:build unix

package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// TestConfigThatOthersRead: a password in a file that every user of the machine can read is told, and what holds none
// is not.
func TestConfigThatOthersRead(t *testing.T) {
	const password, none = "[contexts.a]\nurl = \"amqp://ops:s3cr3t@h\"\n", "[contexts.a]\nurl = \"amqp://h\"\n"
	for _, test := range []struct {
		text string
		mode os.FileMode
		told bool
	}{
		{password, 0o644, true},
		{"[contexts.a]\nurl = \"amqp://h\"\n[contexts.b]\napi = \"https://ops:s3cr3t@h\"\n", 0o604, true},
		{password, 0o600, false},
		{password, 0o640, false}, // for a group that somebody chose
		{none, 0o644, false},
	} {
		env := configured(t, test.text)
		path := filepath.Join(env["XDG_CONFIG_HOME"], "dlxtop", "config.toml")
		must.Do(t, os.Chmod(path, test.mode))
		_, _, stderr := connectionOf(t, env, "--context", "a")
		line, _, _ := strings.Cut(stderr, "\n")
		told := strings.HasPrefix(line, "warning: ") && strings.Contains(line, "chmod 600 "+path)
		assert.That(t, told == test.told, "%+v: %q", test, stderr)
		assert.That(t, !strings.Contains(stderr, "s3cr3t"), "a password is shown: %s", stderr)
	}
}
