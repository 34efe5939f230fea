//go:build unix

package filter

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/message"
)

// Every shell on this machine reads a quoted value unchanged.
func TestQuotedValuesInShells(t *testing.T) {
	for _, shell := range []string{"sh", "bash", "dash", "ksh", "zsh", "fish"} {
		if _, err := exec.LookPath(shell); err != nil && shell != "sh" {
			continue
		}
		ran := filepath.Join(t.TempDir(), "ran")
		for _, value := range []string{
			"plain", "x; touch " + ran + " #", "$(touch " + ran + ")", "`touch " + ran + "`", "'; touch " + ran + "; '",
			`\'; touch ` + ran + `; echo \'`, `"; touch ` + ran + `; "`, "a'b", "''", `\`, `\\n`, "*", "~", "!!", "$HOME",
			"a  b", "é\xff", "=x", "{a,b}", "&", "|", ">" + ran, "<x", "#", "%s",
		} {
			a, err := NewAction("a", "n", "", shell+` -c 'printf "%s\n" key:{{message_id}}'`, true)
			if shell == "sh" { // the implicit one
				a, err = NewAction("a", "n", "", `printf '%s\n' key:{{message_id}} | cat`, true)
			}
			must.Do(t, err)
			words, err := a.Command(&message.Message{Properties: message.Properties{MessageID: value}})
			must.That(t, err == nil, "%q: %v", value, err)
			said, err := exec.Command(words[0], words[1:]...).CombinedOutput()
			want := "key:" + value + "\n"
			assert.That(t, err == nil && string(said) == want, "%s of %q says %q, %v", shell, value, said, err)
		}
		_, err := exec.Command("ls", ran).Output()
		assert.That(t, err != nil, "%s ran a value", shell)
	}
}

// Values that no quoting can keep unchanged.
func TestValuesRefusedInCommands(t *testing.T) {
	for _, test := range []struct {
		command, value string
		shell          bool
	}{
		{"tool {{message_id}}", "-o", false},
		{"tool {{message_id}}", "+!id", false},
		{"tool {{message_id}}", "a\x00", false},
		{"tool {{message_id}}", "-o", true},
		{"tool a{{message_id}}", "a\nb", true},
		{"tool a{{message_id}}", "a\x00b", true},
		{"tool a{{message_id}}", "a\u009bb", true},
		{"tmux new-window 'tail a{{message_id}}'", "#(id)", true},
	} {
		a := must.Get(NewAction("a", "n", "", test.command, test.shell))(t)
		m := message.Message{Properties: message.Properties{MessageID: test.value}}
		words, err := a.Command(&m)
		assert.That(t, err != nil && !a.Offered(&m), "%+v: %q", test, words)
	}
}
