package cli_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/cli/config"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/cause"
)

// What was said of a cause in the dashboard stands in the list, with what its messages make of it. A file that cannot
// be read is said, and hides nothing.
func TestStatesOfCauses(t *testing.T) {
	t.Parallel()
	v := newVHost(t)
	v.declare("mail.failed", nil)
	v.failing("mail.failed", "order", "ValueError: no order %", 3)
	await(t, "the statistics have them", func() bool { return decode[causesContract](t, v.run("causes")).Read == 3 })
	source, err := program(nil, nil, nil).Source(config.Connection{API: node.API(), User: "guest", Password: "guest"})
	must.Do(t, err)
	defer source.Close()
	overview, err := source.Check(t.Context())
	must.Do(t, err)
	kept := func(messages int) []byte {
		text := must.Get(cause.WithStates(nil, overview.ClusterName, func(s cause.States) {
			g := &cause.Group{Messages: messages}
			g.Cause = cause.Cause{Evidence: cause.ByError, Kind: "ValueError", Text: cause.Fold("no order 1")}
			g.ID = g.Cause.ID()
			s.Mark(g, cause.Resolved, time.Now())
			s.Note(g, "ticket 12")
		}))(t)
		return text
	}
	for _, c := range []struct {
		name        string
		text        []byte
		err         error
		state, note string
		says        string
	}{
		{"none", nil, nil, "new", "", ""},
		{"resolved", kept(3), nil, "resolved", "ticket 12", ""},
		{"back: they are more than they were", kept(2), nil, "back", "ticket 12", ""},
		{"damaged", []byte("{"), nil, "new", "", "the states of causes cannot be read"},
		{"not readable", nil, errors.New("no permission"), "new", "", "cannot be read: no permission"},
	} {
		var out, errs bytes.Buffer
		p := program(strings.NewReader(""), &out, &errs)
		p.States = func(string) ([]byte, error) { return c.text, c.err }
		status := p.Run(t.Context(), v.asJSON([]string{"causes"}))
		found := decode[causesContract](t, result{status, out.String(), errs.String()})
		assert.That(t, len(found.Causes) == 1 && found.Causes[0].State == c.state && found.Causes[0].Note == c.note &&
			strings.Contains(errs.String(), c.says), "%s: %+v %s", c.name, found.Causes, errs.String())
	}
}
