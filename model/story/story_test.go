package story

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
)

func TestStory(t *testing.T) {
	at := func(s int) time.Time { return build.Noon.Add(time.Duration(s) * time.Second) }
	published := message.Properties{Timestamp: at(1)}
	for _, c := range []struct {
		name string
		m    message.Message
		want []string
	}{
		{
			"just published",
			message.Message{Exchange: "master", RoutingKey: "user.create", Properties: published},
			[]string{"12:00:01 | published | master | user.create |", "now | here | |"},
		},
		{
			"through a delayed buffer",
			message.Message{
				Exchange: "dlx", RoutingKey: "dlx.key", Properties: published,
				Deaths: []message.Death{{
					Queue: "buffer", Reason: model.Expired, Count: 1, Exchange: "out",
					RoutingKeys: []string{"out.key"}, Time: at(6),
				}},
			},
			[]string{
				"12:00:01 | published | out | out.key |",
				"12:00:06 | expired | buffer | after 5s |",
				"now | here | | through dlx, key dlx.key",
			},
		},
		{
			"a TTL of its own, no timestamp",
			message.Message{
				Deaths: []message.Death{{
					Queue: "buffer", Reason: model.Expired, Count: 1,
					RoutingKeys: []string{"buffer"}, Time: at(6), OriginalExpiration: "3000",
				}},
			},
			[]string{
				"≤ 12:00:06 | published | (default) | buffer | at the latest: it has no time of its own",
				"12:00:06 | expired | buffer | TTL 3s |",
				`now | here | | through (default), key ""`,
			},
		},
		{
			"a TTL of its own, behind a head that blocked it",
			message.Message{
				Properties: published,
				Deaths: []message.Death{{
					Queue: "buffer", Reason: model.Expired, Count: 1,
					RoutingKeys: []string{"buffer"}, Time: at(6), OriginalExpiration: "1000",
				}},
			},
			[]string{
				"12:00:01 | published | (default) | buffer |",
				"12:00:06 | expired | buffer | after 5s |",
				`now | here | | through (default), key ""`,
			},
		},
		{
			"a TTL of its own, above that of the queue",
			message.Message{
				Properties: published,
				Deaths: []message.Death{{
					Queue: "buffer", Reason: model.Expired, Count: 1,
					RoutingKeys: []string{"buffer"}, Time: at(6), OriginalExpiration: "60000",
				}},
			},
			[]string{
				"12:00:01 | published | (default) | buffer |",
				"12:00:06 | expired | buffer | after 5s |",
				`now | here | | through (default), key ""`,
			},
		},
		{
			"a TTL of its own, which is finer than times are",
			message.Message{
				Properties: published,
				Deaths: []message.Death{{
					Queue: "buffer", Reason: model.Expired, Count: 1,
					RoutingKeys: []string{"buffer"}, Time: at(3), OriginalExpiration: "1500",
				}},
			},
			[]string{
				"12:00:01 | published | (default) | buffer |",
				"12:00:03 | expired | buffer | after 1.5s |",
				`now | here | | through (default), key ""`,
			},
		},
		{
			"the retry loop, republished by its worker",
			message.Message{
				Exchange: "master.failed", RoutingKey: "user@failed", Properties: published,
				Headers: model.Table{"x-orig-routing-key": "user.create", "x-error": "TimeoutError: smtp gateway"},
				Deaths: []message.Death{{
					Queue: "user@retry", Reason: model.Expired, Count: 3,
					Exchange: "master.retry", RoutingKeys: []string{"user"}, Time: at(31),
				}},
			},
			[]string{
				"12:00:01 | published |  | user.create | routing key from x-orig-routing-key; exchange unknown",
				"? | republished | master.retry | user | by an application; earlier deaths unknown",
				"12:00:31 | expired ×3 | user@retry | | first of 3: RabbitMQ keeps only the first time",
				"? | failed |  | TimeoutError: smtp gateway | from an error header",
				"now | here | | through master.failed, key user@failed",
			},
		},
		{
			"rejected, waited, rejected",
			message.Message{
				Properties: published,
				Deaths: []message.Death{
					{Queue: "work", Reason: model.Rejected, Count: 2, RoutingKeys: []string{"work"}, Time: at(2)},
					{Queue: "retry", Reason: model.Expired, Count: 1, RoutingKeys: []string{"work"}, Time: at(32)},
				},
			},
			[]string{
				"12:00:01 | published | (default) | work |",
				"12:00:02 | rejected ×2 | work | after 1s | first of 2: RabbitMQ keeps only the first time",
				"12:00:32 | expired | retry | |",
				`now | here | | through (default), key ""`,
			},
		},
		{
			"a timestamp after the first death is not believed",
			message.Message{
				Properties: message.Properties{Timestamp: at(3600)},
				Deaths: []message.Death{{
					Queue: "work", Reason: model.Rejected, Count: 1,
					RoutingKeys: []string{"work"}, Time: at(2),
				}},
			},
			[]string{
				"≤ 12:00:02 | published | (default) | work | at the latest: its timestamp is after its first death",
				"12:00:02 | rejected | work | |",
				`now | here | | through (default), key ""`,
			},
		},
		{
			"deaths without times keep the order of x-death",
			message.Message{Deaths: []message.Death{{Queue: "b"}, {Queue: "a", RoutingKeys: []string{"k"}}}},
			[]string{
				"? | published | (default) | k |",
				"? | died | a | |",
				"? | died | b | | when is unknown",
				`now | here | | through (default), key ""`,
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, e := range Of(&c.m, model.QueueRef{VHost: "/", Name: "here"}) {
				when := "?"
				if !e.Time.IsZero() {
					when = e.Time.Format(time.TimeOnly)
					if !e.TimeExact {
						when = "≤ " + when
					}
				}
				if e.Kind == Now {
					got = append(got, strings.ReplaceAll(strings.TrimSpace(fmt.Sprintf("now | %s | %s | %s", e.Where,
						e.Detail, e.Note)), "|  |", "| |"))
					continue
				}
				got = append(got, strings.ReplaceAll(strings.TrimSpace(fmt.Sprintf("%s | %s | %s | %s | %s", when,
					e.What, e.Where, e.Detail, e.Note)), "|  |", "| |"))
			}
			for i := range c.want {
				c.want[i] = strings.ReplaceAll(c.want[i], "|  |", "| |")
			}
			assert.NoDiff(t, cmp.Diff(c.want, got))
		})
	}
}
