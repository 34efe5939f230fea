package cases

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker/wire"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/depth"
	"github.com/dlxtop/dlxtop/internal/manage"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
)

// scripted is a situation in a file of cases. Its script has a step on each line:
//
//	send EXCHANGE KEY ID...    publish messages; "" is the default exchange
//	work QUEUE acks            start a worker that acks, rejects or returns
//	leave QUEUE                end its worker
//	declare OBJECT             one more, as in parts
//	operator NAME PATTERN ...  an operator policy
//	gone QUEUE                 delete it
//	depth QUEUE N              wait until it has N messages
//	seen QUEUE ID              wait until its worker has got it
//	elsewhere STEP             a step in another vhost
//	STATUS ARGUMENTS           run dlxtop; FILE is a file of the situation
//	says WORDS, lacks WORDS    what dlxtop said, or did not say
type scripted struct {
	Name     string
	Parts    build.Part
	Messages map[string]string // what is not as in others, by ID: JSON of an export
	Script   string
	other    *world
	*testing.T
	said string
}

func playScripts(t *testing.T, path string) {
	t.Parallel()
	for _, c := range must.Cases[scripted](t, path) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c.T = t
			w.declare([]build.Part{c.Parts})
			for line := range strings.Lines(c.Script) {
				if line = strings.TrimSpace(line); line != "" {
					c.step(w, line)
				}
			}
		})
	}
}

func (s *scripted) step(w *world, line string) {
	w.Helper()
	verb, rest, _ := strings.Cut(line, " ")
	words := strings.Fields(rest)
	switch verb {
	case "send":
		for _, id := range words[2:] {
			w.publish(strings.Trim(words[0], `"`), words[1], id, s.change)
		}
	case "work":
		w.work(words[0], map[string]action{"acks": acks, "rejects": rejects, "returns": returns}[words[1]])
	case "leave":
		w.leave(words[0])
	case "declare":
		w.declare([]build.Part{build.Text(rest)})
	case "operator":
		w.declare([]build.Part{operator(build.Text("policy " + rest))})
	case "gone":
		w.gone(words[0])
	case "depth":
		w.depth(words[0], must.Get(strconv.Atoi(words[1]))(w))
	case "seen":
		w.awaitSeen(words[0], words[1], 1)

	case "elsewhere":
		if s.other == nil {
			s.other = &world{T: w.T, node: w.node, vhost: manage.VHost(w, w.node.API(), w.vhost+"-other")}
			s.other.channel = s.other.open()
		}
		s.step(s.other, rest)

	case "says":
		assert.Contains(w, s.said, rest)
	case "lacks":
		assert.Lacks(w, s.said, rest)
	default:
		w.awaitStatistics()
		status, out, errs := w.dlxtop(strings.Fields(strings.ReplaceAll(rest, "FILE", filepath.Join(w.home, "file")))...)
		s.said = out + errs
		assert.That(w, strconv.Itoa(status) == verb, "%s: exit status %d: %s", line, status, s.said)
	}
}

// change gives a message what is its own.
func (s *scripted) change(p *amqp.Publishing) {
	if text := s.Messages[p.MessageId]; text != "" {
		own := must.Get(message.ParseMessage([]byte(text)))(s.T)
		p.Headers, p.Priority = wire.Table(own.Headers), own.Properties.Priority
	}
}

// awaitStatistics waits until statistics have what the queues hold.
func (w *world) awaitStatistics() {
	w.Helper()
	must.Await(w, "statistics are up to date", func() bool {
		t, known := w.topology()
		for i := 0; known && i < len(t.Snapshot.Queues); i++ {
			q := &t.Snapshot.Queues[i]
			known = q.Ready.Or(-1) == int64(depth.Of(w, w.channel, q.Name))
		}
		return known
	})
}
