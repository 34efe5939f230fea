package model

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFindingsInMessages(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	// waiting is a buffer's content: expirations in seconds, published some seconds ago.
	waiting := func(ago int, expirations ...int) []Message {
		var ms []Message
		for i, e := range expirations {
			m := Message{Position: i + 1, Properties: Properties{Timestamp: at.Add(-time.Duration(ago) * time.Second)}}
			if e >= 0 {
				m.Properties.Expiration = strconv.Itoa(e * 1000)
			}
			ms = append(ms, m)
		}
		return ms
	}
	counted := func(counts ...int64) []Message {
		var ms []Message
		for _, n := range counts {
			ms = append(ms, Message{Headers: Table{"x-delivery-count": n}})
		}
		return ms
	}
	buffer := []part{queue("w", consumers(1)), queue("q", dlx(""), deadKey("w"))}
	tests := []struct {
		name     string
		parts    []part
		messages []Message
		want     []string
		says     string
	}{
		{"5,4,3,2,1 s, two seconds later", buffer, waiting(2, 5, 4, 3, 2, 1), []string{"warning head-of-line-blocked q"}, "message 1 (TTL 5s) blocks 4 messages; it leaves in 4s"},
		{"1,2,3,4,5 s", buffer, waiting(0, 1, 2, 3, 4, 5), nil, ""},
		{"one without a TTL at the head", buffer, waiting(0, -1, 5), []string{"error head-of-line-blocked q"}, "never"},
		{"a TTL of the queue", []part{queue("w", consumers(1)), queue("q", dlx(""), deadKey("w"), ttl(1000))}, waiting(0, -1, -1), nil, ""},
		{"a queue with consumers", []part{queue("q", dlx(""), deadKey("w"), consumers(1))}, waiting(0, 5, 1), nil, ""},
		{"near the delivery limit", []part{queue("q", ofType(Quorum), argument("x-delivery-limit", int64(5)))}, counted(0, 3, 5), []string{"warning delivery-count-near-limit q"}, "2 messages are near"},
		{"far from the delivery limit", []part{queue("q", ofType(Quorum), argument("x-delivery-limit", int64(20)))}, counted(0, 3, 5), nil, ""},
		{"copies", []part{queue("q")}, []Message{{Headers: Table{"CC": []any{"z"}}}}, []string{"info copies q"}, "1 message was"},
		{"a publisher whose clock is ahead", []part{queue("q")}, []Message{{Properties: Properties{Timestamp: at.Add(5 * time.Minute)}}, {Properties: Properties{Timestamp: at.Add(time.Second)}}}, []string{"info clock-skew q"}, "1 message has a timestamp later than what happened to it: the publisher's clock is at least 5m ahead"},
		{"published after its death", []part{queue("q")}, []Message{{Properties: Properties{Timestamp: at.Add(-time.Minute)}, Deaths: []Death{{Queue: "w", Time: at.Add(-time.Hour)}}}}, []string{"info clock-skew q"}, "at least 59m ahead"},
		{"timestamps that are none", []part{queue("q")}, []Message{{Properties: Properties{Timestamp: time.Unix(1<<40, 0)}}, {Properties: Properties{Timestamp: time.Unix(0, 0)}}}, nil, ""},
		{"a poison message", []part{queue("w", consumers(1)), queue("q", dlx(""), deadKey("w"), ttl(30_000)), queue("w.retry", dlx(""), deadKey("w"), ttl(1000))}, []Message{
			{Position: 1, Properties: Properties{MessageID: "0f3c"}, Headers: Table{"x-tries": int64(214)}}, {Position: 2},
		}, []string{"warning poison-message q"}, "message 1 (id 0f3c) comes back again and again: 214 tries"},
		{"nothing", []part{queue("q")}, []Message{{}}, nil, ""},
		{"a queue that vanished", nil, []Message{{}}, nil, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			findings := topologyOf("4.0.5", test.parts...).FindingsIn(ref("q"), MessageList(test.messages), at)
			if diff := cmp.Diff(test.want, codes(findings)); diff != "" {
				t.Error(diff)
			}
			if len(findings) > 0 && !strings.Contains(findings[0].Message, test.says) {
				t.Errorf("it says %q, want something with %q", findings[0].Message, test.says)
			}
		})
	}
}
