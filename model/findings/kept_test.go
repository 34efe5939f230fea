package findings

import (
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

// What a queue keeps until somebody takes it is not lost, and no sentence says so.
func TestKeptDeadLettersAreNotLost(t *testing.T) {
	parts := []build.Part{build.Exchange("direct", "x"), build.Queue("w"), build.Bind("x", "k", "w")}
	for _, test := range []struct {
		name    string
		setting []build.Setting
		want    string
	}{
		{
			"a missing exchange",
			[]build.Setting{build.DLX("nope")},
			"dead letters of q stay in it: the exchange nope does not exist",
		},
		{
			"nothing bound for the key",
			[]build.Setting{build.DLX("x"), build.DeadKey("other")},
			"dead letters of q stay in it: no queue is bound to x for the key other",
		},
		{
			"nothing bound for their own keys",
			[]build.Setting{build.DLX("x")},
			"dead letters of q may stay in it: x has no queue for the keys that messages arrive with",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			all := append([]build.Part{
				build.Queue("q", append(test.setting, build.AtLeastOnce, build.TTL(1000))...),
				build.Exchange("direct", "in"), build.Bind("in", "own", "q"),
			}, parts...)
			topology := build.TopologyOf("4.0.5", all...)
			var got []string
			for _, f := range Of(topology) {
				if f.Code == "dlx-missing" || f.Code == "dead-letter-unroutable" {
					got = append(got, f.Message)
				}
			}
			assert.That(t, len(got) == 1 && got[0] == test.want, "%q, not %q", got, test.want)
		})
	}
	in := []build.Part{
		build.Queue("q", build.DLX("x"), build.AtLeastOnce), build.Exchange("direct", "in"), build.Bind("in", "own", "q"),
	}
	topology := build.TopologyOf("4.0.5", append(in, parts...)...)
	m := message.Message{
		Exchange: "in", RoutingKey: "own", Position: 1, Properties: message.Properties{Expiration: "1000"},
	}
	found := In(topology, build.Ref("q"), peek.Peeked{Messages: message.MessageList{m}, TakenAt: build.Noon})
	if len(found) != 1 || found[0].Level != LevelWarning ||
		!strings.HasPrefix(found[0].Message, "1 message will be kept on expiry: x has no queue for the keys that they keep") {
		t.Errorf("%+v", found)
	}
}
