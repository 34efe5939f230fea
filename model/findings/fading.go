package findings

import (
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// fading: messages that do not stay, whatever the settings of their queue. RabbitMQ takes the expiration out of what it
// dead-letters; an application that publishes failures leaves it in. A classic queue has what is not persistent only
// until its node starts again (all versions); other types keep all.
type fading struct {
	failed, consumed, loses, transient bool

	expire, unsaved int
	soonest         time.Duration
}

func newFading(t *model.Topology, q *model.Queue) *fading {
	failed := t.IsFailed(q.QueueRef)
	return &fading{
		failed:    failed,
		consumed:  q.Consumers.Or(1) > 0,
		loses:     q.Type != model.Stream && !t.Settings(q.QueueRef).DLX.Set,
		transient: failed && q.Type == model.Classic,
	}
}

func (f *fading) inspect(m *message.Message) {
	ttl, expires := message.ParseExpiration(m.Properties.Expiration)
	if f.loses && expires {
		f.expire++
		if f.expire == 1 || ttl < f.soonest {
			f.soonest = ttl
		}
	}

	if f.transient && m.Properties.DeliveryMode != 2 {
		f.unsaved++
	}
}

func (f *fading) finding() (Finding, bool) {
	var says, evidence, remedies []string
	if f.expire > 0 {
		says = append(says, spell("%v message(s) (has|have) an expiration of (its|their) own, and (is|are) lost then: after "+
			"%s or later", f.expire, f.soonest))
		evidence = append(evidence, "the property expiration; the queue has no dead-letter exchange")
		if !f.failed {
			return Finding{
				Code: "ttl-without-dlx", Level: infoIf(f.consumed), Message: says[0], Evidence: evidence[0],
				Remedy: "unless the loss is intended, set a dead-letter-exchange (a policy takes effect at once), or let their " +
					"publisher leave the expiration out",
			}, true
		}
		remedies = append(remedies, "replay or export them in time, and let the application publish failures without it")
	}

	if f.unsaved > 0 {
		says = append(says, spell("%v message(s) (is|are) not persistent, and lost when the node starts again", f.unsaved))
		evidence = append(evidence, "delivery_mode is not 2, in a classic queue")
		remedies = append(remedies, "export them before a restart, and let their publisher set delivery_mode 2")
	}

	return Finding{
		Code:     "failed-queue-forgets",
		Level:    infoIf(f.expire == 0),
		Message:  strings.Join(says, "; "),
		Evidence: strings.Join(evidence, "; "),
		Remedy:   strings.Join(remedies, "; "),
	}, len(says) > 0
}
