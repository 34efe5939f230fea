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

// script is what happens in a situation of a file of cases, with a step on each line; after " // " it says why:
//
//	send EXCHANGE KEY ID...    publish messages; "" is the default exchange
//	work QUEUE acks            start a worker that acks, rejects, requeues or returns
//	work QUEUE slowly rejects  one that pauses before
//	leave QUEUE                end its worker
//	declare OBJECT             one more, as in parts
//	operator NAME PATTERN ...  an operator policy
//	gone QUEUE                 delete it
//	depth QUEUE N              wait until it has N messages
//	seen QUEUE ID [N]          wait until its worker has got it, N times
//	elsewhere STEP             a step in another vhost
//	STATUS ARGUMENTS           run dlxtop; FILE is a file of the situation
//	says WORDS, lacks WORDS    what dlxtop said, or did not say
type script struct {
	messages map[string]string
	other    *world
	*testing.T
	said string
}

// playScripts plays the situations of a file, and those that a script cannot tell.
func playScripts(t *testing.T, path string, also ...situation) {
	t.Helper()
	play(t, append(must.Cases[situation](t, path), also...)...)
}

// follow does the steps of a situation.
func (w *world) follow(s *situation) {
	w.Helper()
	steps := script{messages: s.Messages, T: w.T}
	for line := range strings.Lines(s.Script) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), " // ")
		if line != "" {
			steps.step(w, line)
		}
	}
}

// workers are what workers of a script do.
var workers = map[string]action{
	"acks": acks, "rejects": rejects, "requeues": requeues, "returns": returns,
	"slowly rejects": slowly(rejects), "slowly requeues": slowly(requeues),
}

func (s *script) step(w *world, line string) {
	w.Helper()
	verb, rest, _ := strings.Cut(line, " ")
	words := strings.Fields(rest)
	switch verb {
	case "send":
		for _, id := range words[2:] {
			w.publish(strings.Trim(words[0], `"`), words[1], id, s.change)
		}
	case "work":
		w.work(words[0], workers[strings.Join(words[1:], " ")])
	case "leave":
		w.leave(words[0])
	case "declare":
		w.declare(rest)
	case "operator":
		w.declare("", operator(build.Text("policy "+rest)))
	case "gone":
		w.gone(words[0])
	case "depth":
		w.depth(words[0], must.Get(strconv.Atoi(words[1]))(w))
	case "seen":
		w.awaitSeen(words[0], words[1], must.Get(strconv.Atoi(append(words, "1")[2]))(w))

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
func (s *script) change(p *amqp.Publishing) {
	if text := s.messages[p.MessageId]; text != "" {
		own := must.Get(message.ParseMessage([]byte(text)))(s.T)
		p.Headers, p.Priority, p.Body = wire.Table(own.Headers), own.Properties.Priority, own.Body
		p.Expiration = own.Properties.Expiration
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
