package shell

import (
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/target"
)

// TestChangesAcrossARefusal: a plan that was refused for a moment is compared with what was read before.
func TestChangesAcrossARefusal(t *testing.T) {
	way := func(key string) plan.Promise {
		w := target.Way{Exact: true}
		w.Address.RoutingKey, w.Reaches = key, append(w.Reaches, build.Ref(key))
		return plan.Promise{Ways: []target.Way{w}, Strips: []string{"x-error"}, Messages: 2}
	}
	refused := plan.Promise{Messages: 2, Refusal: plan.Refusal{plan.NothingLeft{}}}
	const other = "messages now go through exchange (default), key v, which reaches v; " +
		"no message goes through exchange (default), key w any more"
	for name, test := range map[string]struct {
		plans []plan.Promise // one after the other
		want  string         // what has changed at the end
		read  bool           // it has to be read
	}{
		"refused":                        {[]plan.Promise{way("w"), refused}, "there is nothing to undo", true},
		"again as it was read":           {[]plan.Promise{way("w"), refused, way("w")}, "", false},
		"another one after it":           {[]plan.Promise{way("w"), refused, way("v")}, other, true},
		"refused at first, then not":     {[]plan.Promise{refused, way("w")}, "", true},
		"refused twice, then as it was":  {[]plan.Promise{way("w"), refused, refused, way("w")}, "", false},
		"it changed without any refusal": {[]plan.Promise{way("w"), way("w"), way("v")}, other, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := NewDialog(&Env{Terminal: Terminal{Shown: time.Now()}}, DialogAsking)
			for i := range test.plans[1:] {
				d.Changed(test.plans[i], test.plans[i+1])
			}
			assert.Equal(t, plan.ChangesWords(d.Changes), test.want, "changed")
			assert.Equal(t, !d.ChangedAt.IsZero(), test.read, "it has to be read")
		})
	}
}
