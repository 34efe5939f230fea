//go:build unix

package act

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// A command reads every value unchanged from its environment, and sh runs none of it.
func TestCommandsReadHostileValues(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	const command = `printf %s "$DLXTOP_APP_ID" > app; printf %s "$DLXTOP_HEADER_X_TENANT" > tenant;
		printf %s $DLXTOP_APP_ID > words`
	a := must.Get(filter.NewAction("a", "logs", "", command))(t)

	for _, value := range []string{
		"plain", "x; touch ran #", "$(touch ran)", "`touch ran`", "'; touch ran; '", `"; touch ran; "`, `\`, "a\nb", "*",
		"() { :; }; touch ran", "${x:-$(touch ran)}", ">ran", "&", "|touch ran", "--help", "é\xff", "\x1b[2J",
		"#(touch ran)",
	} {
		m := message.Message{Properties: message.Properties{AppID: value}, Headers: model.Table{"x-tenant": value}}
		notice := runCommand(t, &a, &m)
		assert.That(t, !notice.Bad, "%q: %s", value, notice.Text)
		for _, name := range []string{"app", "tenant"} {
			got := must.Get(os.ReadFile(name))(t)
			assert.That(t, string(got) == value, "%s of %q is %q", name, value, got)
		}

		_, err := os.Stat(filepath.Join(dir, "ran"))
		assert.That(t, os.IsNotExist(err), "%q was run", value)
	}
}

// A command gets the message as JSON, also one with a NUL byte in a field; one that reads nothing is not held up by a
// large body.
func TestCommandsReadTheMessage(t *testing.T) {
	body := []byte(strings.Repeat("a", 1<<20))
	m := message.Message{Properties: message.Properties{AppID: "zero\x00"}, Body: body, BodyBytes: len(body)}
	seen := filepath.Join(t.TempDir(), "seen")
	t.Setenv("SEEN", seen)
	reads := must.Get(filter.NewAction("a", "logs", "", `cat > "$SEEN"; echo "app is ${DLXTOP_APP_ID-not set}"`))(t)
	notice := runCommand(t, &reads, &m)
	assert.Equal(t, notice.Text, "logs: app is not set")

	var got struct {
		Body string `json:"body"`
	}
	must.Do(t, json.Unmarshal(must.Get(os.ReadFile(seen))(t), &got))
	assert.That(t, got.Body == string(body), "it read %d bytes of the body", len(got.Body))

	reads = must.Get(filter.NewAction("a", "logs", "", "echo done early"))(t)
	notice = runCommand(t, &reads, &m)
	assert.Equal(t, notice.Text, "logs: done early")
}

func runCommand(t *testing.T, a *filter.Action, m *message.Message) shell.NoticeMsg {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), ActionTimeout)
	defer cancel()
	notice, ok := RunCommand(ctx, a, m).(shell.NoticeMsg)
	must.That(t, ok, "no notice")
	return notice
}
