package draft

import (
	"bytes"
	"errors"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/limit"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
)

// An edited document is a draft that survives writing and reading, or an error with its line.
func FuzzParse(f *testing.F) {
	for _, line := range build.ExportedLines(f) {
		m := must.Get(message.ParseMessage(line))(f)
		d := Draft{
			Address:    model.Address{Exchange: m.Exchange, RoutingKey: m.RoutingKey},
			Properties: m.Properties, Headers: model.Table{"tenant": "blue", "raw": []byte{0xff}}, Body: m.Body,
		}
		f.Add(d.Text())
	}
	f.Add([]byte("# x\n{\"exchange\":\"\",\n\"routing_key\":7}\n----- body (utf-8) -----\n\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var d Draft
		var err error
		limit.Keep(t, len(text), func() { d, err = Parse(text) })
		if err != nil {
			build.CheckError(t, err)
			var at *lineError
			assert.That(t, errors.As(err, &at) && at.line >= 1 && at.line <= bytes.Count(text, []byte("\n"))+2,
				"no line of the document: %v", err)
			return
		}
		again, err := Parse(d.Text())
		assert.That(t, err == nil && d.Same(&again) && bytes.Equal(d.Body, again.Body), "written and read again it is "+
			"another draft, %v:\n%s\n%s", err, d.Text(), again.Text())
		lines := d.Differences(&again)
		assert.That(t, len(lines) == 0, "differences where there are none: %q", lines)
	})
}
