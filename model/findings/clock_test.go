package findings

import (
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

func TestClockSkewFinding(t *testing.T) {
	for _, c := range []struct {
		ahead model.Opt[time.Duration]
		says  string // "" it is silent
	}{
		{model.Unknown[time.Duration](), ""},
		{model.Some(time.Duration(0)), ""},
		{model.Some(1900 * time.Millisecond), ""},
		{model.Some(192*time.Second + 300*time.Millisecond), "this machine's clock is 3m12s behind the broker's"},
		{model.Some(-192 * time.Second), "this machine's clock is 3m12s ahead of the broker's"},
	} {
		s := build.Broker("4.0.5")
		s.Overview.ClockSkew, s.Overview.ClockWithin = c.ahead, 500*time.Millisecond
		said := ""
		for _, f := range Of(model.NewTopology(s)) {
			if f.Code == "clock-skew" && f.Level == LevelInfo {
				said = f.Message
			}
		}
		assert.That(t, said == "" == (c.says == "") && strings.Contains(said, c.says),
			"%s: %q, want %q", c.ahead, said, c.says)
	}
}
