package model_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

func TestCarried(t *testing.T) {
	limit := func(n int64) build.Setting { return build.Argument("x-delivery-limit", n) }
	quorum := func(name string, settings ...build.Setting) build.Part {
		return build.Queue(name, append(settings, build.OfType(model.Quorum))...)
	}
	to := func(name string) build.Setting {
		return func(q *model.Queue) {
			build.DLX("")(q)
			build.DeadKey(name)(q)
		}
	}
	for _, test := range []struct {
		name    string
		version string
		parts   []build.Part
		want    string // of failed: from where, and the count
	}{
		{"by the default limit", "4.3.6", []build.Part{quorum("w", to("failed")), quorum("failed")}, "w 21"},
		{"by its own limit", "4.3.6", []build.Part{quorum("w", to("failed"), limit(3)), quorum("failed")}, "w 4"},
		{"without a limit", "4.3.6", []build.Part{quorum("w", to("failed"), limit(-1)), quorum("failed")}, "w any"},
		{"from a classic queue", "4.3.6", []build.Part{build.Queue("w", to("failed")), quorum("failed")}, " 0"},
		{"before 4.3", "4.2.0", []build.Part{quorum("w", to("failed")), quorum("failed")}, " 0"},
		{
			"through a buffer", "4.3.6",
			[]build.Part{quorum("w", to("b")), build.Queue("b", to("failed"), build.TTL(10)), quorum("failed")},
			"w 21",
		},
		{
			// b keeps what expires at the count with which it came, or was delivered there
			"through a buffer with a higher limit", "4.3.6",
			[]build.Part{quorum("w", to("b"), limit(3)), quorum("b", to("failed"), limit(9)), quorum("failed")},
			"b 10",
		},
		{
			"round and round", "4.3.6",
			[]build.Part{quorum("w", to("failed")), quorum("failed", to("w"), limit(3))},
			"w 21",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, _ := build.TopologyOf(test.version, test.parts...).Carried(build.Ref("failed"))
			got := fmt.Sprintf("%s %d", c.From.Name, c.Count)
			if c.Count == math.MaxInt64 {
				got = c.From.Name + " any"
			}
			assert.Equal(t, got, test.want)
		})
	}
}
