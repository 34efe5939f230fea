package model

import (
	"strings"
	"testing"
	"time"
)

func TestClockSkewFinding(t *testing.T) {
	for _, c := range []struct {
		ahead Opt[time.Duration]
		says  string // "" it is silent
	}{
		{Unknown[time.Duration](), ""},
		{Some(time.Duration(0)), ""},
		{Some(1900 * time.Millisecond), ""},
		{Some(192*time.Second + 300*time.Millisecond), "this machine's clock is 3m12s behind the broker's"},
		{Some(-192 * time.Second), "this machine's clock is 3m12s ahead of the broker's"},
	} {
		s := broker("4.0.5")
		s.Overview.ClockSkew, s.Overview.ClockWithin = c.ahead, 500*time.Millisecond
		said := ""
		for _, f := range NewTopology(s).Findings() {
			if f.Code == "clock-skew" && f.Level == LevelInfo {
				said = f.Message
			}
		}
		if said == "" != (c.says == "") || !strings.Contains(said, c.says) {
			t.Errorf("%s: %q, want %q", c.ahead, said, c.says)
		}
	}
}
