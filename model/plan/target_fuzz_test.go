package plan

import (
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/target"
)

// A target that is read is written as --to would name it, and read again as the same one.
func FuzzParseTarget(f *testing.F) {
	for _, to := range []string{
		"", "auto", "origin", "queue:orders", "exchange:x/a/b", "exchange:x", "queue:",
		"q:\x1b\n\u202e\xff", "\ufe050",
	} {
		f.Add(to)
	}
	f.Fuzz(func(t *testing.T, to string) {
		mode, address, err := target.Parse(to, model.Unknown[string]())
		if err != nil {
			text := err.Error()
			assert.That(t, model.Printable(text) == text, "the error cannot be shown: %q", text)
			return
		}
		p := Plan{Operation: Replay, Target: target.Target{Mode: mode, Fixed: address}}
		m, a, err := target.Parse(p.To(), model.Unknown[string]())
		if mode == target.ToExchange {
			address.Exchange += "/" // an empty key
		}
		assert.That(t, err == nil && m == mode && a == address,
			"%q is %s %+v, and then %s %+v, %v", to, mode, address, m, a, err)
	})
}
