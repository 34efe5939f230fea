package plan

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
)

func diedIn(queue string, reason model.Reason, key ...string) message.Death {
	return message.Death{Queue: queue, Reason: reason, Count: 1, RoutingKeys: key}
}

// Messages of a failed queue that several workers share go to the queue that they name, or stay with a sentence that
// says what they name. What expired in a queue that is gone stays, as what was rejected there does, unless that was a
// buffer of one delay. x-death has no vhost: what a shovel or a federation brought is not for a queue of the same name
// here, unless that dead-letters to where the messages are.
func TestWhereMessagesSayThatTheyFailed(t *testing.T) {
	shared := build.Text(`
		queue dead
		queue email consumers=1
		queue sms consumers=1
		queue mail.order.paid consumers=1
		queue audit-order.paid consumers=1
		exchange topic failures
		bind failures # dead
		exchange topic events
		bind events # dead
		bind events sms sms
	`)

	for _, c := range must.Cases[struct {
		Name, Queue, Message string
		Broker               build.Part
		Want                 string // "to QUEUE", or words of the refusal
		Failure, Counts      string // of what a program left: why it failed, what a replay resets or removes
	}](t, "testdata/evidence.toml") {
		m := must.Get(message.ParseMessage([]byte(c.Message)))(t)
		if c.Broker == nil {
			c.Broker = shared
		}

		p := newRun(build.TopologyOf("4.0.5", c.Broker), replayOf(cmp.Or(c.Queue, "dead"), "auto", m))
		assert.Contains(t, outcomeOf(p), c.Want, "%s", c.Name)
		if c.Queue == "" {
			continue
		}

		failure, _ := m.Failure()
		assert.Equal(t, failure.String(), c.Failure, "%s", c.Name)
		_, resets := m.Reset(message.ResetWish{})
		counts := ""
		for _, r := range resets {
			counts += fmt.Sprintln(r.Name, r.Was)
		}
		assert.Equal(t, counts, c.Counts, "%s", c.Name)
	}
}

// outcomeOf returns "to QUEUE", or why the plan is refused.
func outcomeOf(p *Run) string {
	if p.Refusal.Refused() {
		return p.Refusal.Words()
	}
	var to []string
	for _, r := range p.Recipients {
		to = append(to, r.Queue.Name)
	}

	return "to " + strings.Join(to, " ")
}

// Right: where the dead letters of the queue that a message left last do not go to its queue today, a replay says so.
func TestDeadLettersGoElsewhereNow(t *testing.T) {
	for settings, want := range map[string]string{
		"policy=now,dead-letter-exchange=,dead-letter-routing-key=errors": "errors",
		"":                      "no queue",
		"dlx=by-key key=sms.no": "errors",
		"dlx=by-key":            "",
		"dlx=all":               "",
		"dlx= key=jobs.failed":  "",
	} {
		topology := build.Described("4.0.5", "queue jobs consumers=1 "+settings+`
			queue jobs.failed
			queue errors
			exchange fanout all
			bind all errors
			bind all jobs.failed
			exchange topic by-key
			bind by-key mail.# jobs.failed
			bind by-key sms.# errors
		`)
		m := message.Message{Deaths: []message.Death{diedIn("jobs", model.Rejected, "mail.new")}}
		_, says, _ := strings.Cut(warnedOf(newRun(topology, replayOf("jobs.failed", "auto", m)).Warnings),
			"by x-death, jobs gave up what is here, but its dead letters go to ")
		now, _, _ := strings.Cut(says, " now:")
		assert.Equal(t, now, want, "%s", settings)
	}
}
