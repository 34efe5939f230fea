package findings

import (
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
)

// What an application published into a failed queue may not stay there, though the queue forgets nothing.
func TestFailedMessagesThatDoNotStay(t *testing.T) {
	topology := build.Described("4.3.6", `
		queue mail consumers=1 dlx= key=mail.failed
		queue mail.failed
		queue stock consumers=1 dlx= key=stock.failed
		buffer stock.failed rest 60000
		queue rest
		queue pay consumers=1 dlx= key=pay.failed
	`, build.Queue("pay.failed", build.OfType(model.Quorum)))
	expires, brief := &message.Message{}, &message.Message{}
	expires.Properties = message.Properties{Expiration: "86400000", DeliveryMode: 2}
	brief.Properties = message.Properties{Expiration: "60000", DeliveryMode: 2}
	unsaved := &message.Message{}

	for _, test := range []struct {
		queue    string
		messages []*message.Message
		want     string
	}{
		{
			"mail.failed",
			[]*message.Message{expires, brief, unsaved},
			"warning 2 messages have an expiration of their own, and are lost then: after 1m or later; " +
				"1 message is not persistent, and lost when the node starts again",
		},
		{"mail.failed", []*message.Message{unsaved}, "info 1 message is not persistent, and lost when the node starts again"},
		{"stock.failed", []*message.Message{expires}, ""}, // it goes on to rest
		{"pay.failed", []*message.Message{unsaved}, ""},   // a quorum queue keeps all
		{"mail", []*message.Message{brief, unsaved}, ""},
	} {
		r := ReadingOf(topology, build.Ref(test.queue), build.Noon, nil)
		for _, m := range test.messages {
			r.See(m)
		}

		got := ""
		for _, f := range r.Found() {
			got += string(f.Level) + " " + f.Message
		}
		assert.Equal(t, got, test.want, "in %s", test.queue)
	}
}
