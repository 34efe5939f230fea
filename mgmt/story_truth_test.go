package mgmt

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/story"
)

// TestStoriesAreWhatTheBrokerDoes sends messages through random topologies, many of them with cycles: they expire by
// the TTL of their queue or their own, are rejected, or republished by a worker that keeps their headers. Before each
// expiry their story says which queues get them, or that RabbitMQ drops or keeps them. In a buffer of each, waiting
// messages say when they leave at the latest, or never, also where a policy changed their TTL while some waited. Some
// queues are deleted before. There are 40 topologies a round (`make truth`: 2,000).
func TestStoriesAreWhatTheBrokerDoes(t *testing.T) {
	const atOnce = 20
	number, s := seed.Number(t), newStage(t)
	var sum tally
	for batch := range max(1, 40*size.Rounds(0)/atOnce) {
		r := &storyRun{stage: s, tally: &sum, random: rand.New(rand.NewPCG(number, uint64(batch)))}
		r.play(batch, atOnce)
		must.That(t, sum.wrong <= 20, "more than 20 disagreements: the rest is not looked at")
	}

	for what, n := range map[string]int{
		"stories": sum.stories, "dropped": sum.dropped, "republished": sum.republished, "dues": sum.dues,
		"earlier": sum.earlier,
	} {
		assert.That(t, n != 0, "no %s was compared: %+v", what, sum)
	}
	t.Logf("%+v", sum)
}

// tally counts what was compared.
type tally struct{ topologies, stories, dropped, kept, republished, dues, earlier, never, wrong int }

// storyRun runs several topologies at once and compares what happens to their messages with their stories.
type storyRun struct {
	*stage
	*tally
	random     *rand.Rand
	connection *amqp.Connection
	topology   *model.Topology
	messages   map[string]*storyMessage
	arrivals   chan amqp.Delivery // from all queues but the buffers: the consumer tag is the queue
	nacks      sync.WaitGroup     // of messages that should expire
	due        map[string]time.Time
	undated    map[string]bool // they may leave at any time: an earlier TTL holds for them
}

// storyMessage is one message of a topology.
type storyMessage struct {
	queues, exchanges []string // those of its topology
	expected          []string // where it must arrive next; empty: nowhere
	what              string   // what the story said, and what was done
	arrived           []amqp.Delivery
	steps             int
	by                time.Time // when it must have arrived
}

func (r *storyRun) pick(list []string) string { return list[r.random.IntN(len(list))] }

func (r *storyRun) chance(n int) bool { return r.random.IntN(n) == 0 }

func (r *storyRun) play(batch, n int) {
	r.t.Helper()
	r.messages = map[string]*storyMessage{}
	r.due = map[string]time.Time{}
	r.undated = map[string]bool{}
	r.arrivals = make(chan amqp.Delivery, 10_000) // more than there are messages

	var shapes []*storyMessage
	for i := range n {
		shapes = append(shapes, r.declare(fmt.Sprintf("t%d.%d", batch, i)))
	}

	r.topology = r.topology.Next(r.current())
	for _, shape := range shapes {
		if last := len(shape.queues) - 1; r.chance(3) { // keys and bindings of the others still lead there
			must.Do(r.t, deleteQueue(r.channel, shape.queues[last]))
			shape.queues = shape.queues[:last]
		}
	}

	for i, ms := range []int{late, []int{2 * soon, late / 2}[batch%2]} { // for half of the buffers
		r.stage.declare(fmt.Sprint(`policy ttl [0-4]\.q0\.buffer$ 0 message-ttl=`, ms))
		for _, shape := range shapes[i*n:] { // before the change
			r.fill(shape.queues[0]+".buffer", 0, 2)
		}
		r.topology = r.topology.Next(r.current())
	}

	connection := must.Get(dial.AMQP(r.b.AMQP() + r.vhost))(r.t)
	defer connection.Close()
	r.connection = connection
	taker := must.Get(connection.Channel())(r.t)
	for _, shape := range shapes {
		for _, queue := range append(shape.queues, shape.queues[0]+".sink") {
			deliveries := must.Get(taker.Consume(queue, queue, false, false, false, false, nil))(r.t)
			go func() {
				for d := range deliveries {
					r.arrivals <- d
				}
			}()
		}
	}

	for _, shape := range shapes {
		r.topologies++
		for i := range 3 {
			m := *shape
			id := fmt.Sprintf("%s.%d", shape.queues[0], i)
			r.messages[id] = &m
			m.expect([]string{r.pick(m.queues)}, "published")
			r.send("", m.expected[0], id, nil)
		}

		r.fill(shape.queues[0]+".buffer", 2, 3)
		r.look(shape.queues[0] + ".buffer")
	}

	for r.waits() {
		select {
		case d := <-r.arrivals:
			r.arrives(d)
		case <-time.After(time.Second):
			r.late()
		}
	}

	r.settle(taker, shapes)
	for _, shape := range shapes {
		for _, queue := range append(shape.queues, shape.queues[0]+".sink", shape.queues[0]+".buffer") {
			must.Do(r.t, deleteQueue(r.channel, queue))
		}
		for _, exchange := range shape.exchanges[1:] {
			must.Do(r.t, r.channel.ExchangeDelete(exchange, false, false))
		}
	}
}

// current returns a poll with the policies of the moment. Only looks consume.
func (r *storyRun) current() *model.Snapshot {
	r.t.Helper()
	snapshot := must.Get(r.poll.Current(r.t.Context()))(r.t)
	for i := range snapshot.Queues {
		snapshot.Queues[i].Consumers = build.Some(0)
	}

	return snapshot
}

// settle waits for unexpected arrivals: each queue answers after it has forwarded what it had.
func (r *storyRun) settle(taker *amqp.Channel, shapes []*storyMessage) {
	r.t.Helper()
	r.nacks.Wait()
	for range 3 {
		for _, shape := range shapes {
			for _, queue := range shape.queues {
				must.Get(taker.QueueDeclarePassive(queue, true, false, false, false, nil))(r.t)
			}
		}
	}

	for len(r.arrivals) > 0 {
		r.arrives(<-r.arrivals)
	}
}

// declare declares the queues and exchanges of a shape, and a buffer for messages with their own TTLs.
func (r *storyRun) declare(name string) *storyMessage {
	shape := &storyMessage{exchanges: []string{""}}
	for i := range 3 + r.random.IntN(2) {
		shape.queues = append(shape.queues, fmt.Sprintf("%s.q%d", name, i))
	}

	for _, kind := range []string{"direct", "topic", "fanout"} {
		shape.exchanges = append(shape.exchanges, name+"."+kind)
		r.exchange(kind, name+"."+kind, nil)
	}

	for _, queue := range shape.queues {
		arguments := amqp.Table{}
		if !r.chance(8) {
			arguments["x-dead-letter-exchange"] = r.pick(append(shape.exchanges, ""))
			if !r.chance(4) {
				arguments["x-dead-letter-routing-key"] = r.key(shape)
			}
		}

		if !r.chance(3) {
			arguments["x-message-ttl"] = int64(20 + r.random.IntN(60))
		}

		if r.chance(5) {
			arguments["x-queue-type"] = "quorum"
			if r.chance(2) {
				arguments["x-dead-letter-strategy"], arguments["x-overflow"] = "at-least-once", "reject-publish"
			}
		}

		r.queue(queue, arguments)
		r.bind(queue, r.key(shape), shape.exchanges[1])
		r.bind(queue, r.pick([]string{"a", "b", "*", "#"}), shape.exchanges[2])
		if r.chance(3) {
			r.bind(queue, "", shape.exchanges[3])
		}
	}

	sink := shape.queues[0] + ".sink"
	r.queue(sink, nil)
	buffer := amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": sink}
	if r.chance(5) {
		buffer["x-queue-type"] = "quorum"
	}
	if r.chance(3) {
		buffer["x-message-ttl"] = int64(100 + r.random.IntN(300))
	}

	r.queue(shape.queues[0]+".buffer", buffer)
	return shape
}

// key returns one that may lead somewhere: a queue's name for the default exchange.
func (r *storyRun) key(shape *storyMessage) string {
	if r.chance(2) {
		return r.pick(shape.queues)
	}
	return r.pick([]string{"a", "b", "c"})
}

// send publishes with a TTL, or without.
func (r *storyRun) send(exchange, key, id string, headers amqp.Table) {
	r.t.Helper()
	p := amqp.Publishing{MessageId: id, Headers: headers}
	if r.chance(2) {
		p.Expiration = strconv.Itoa(30 + r.random.IntN(50))
	}
	r.confirmed(exchange, key, p)
}

func (m *storyMessage) expect(queues []string, what string) {
	m.expected, m.arrived, m.by = slices.Clone(queues), nil, time.Now().Add(patience/2)
	m.what += fmt.Sprintf("\n%s: %v", what, queues)
}

func (r *storyRun) disagree(format string, values ...any) {
	r.t.Helper()
	r.wrong++
	r.t.Errorf(format, values...)
}

// waits reports whether something must still arrive.
func (r *storyRun) waits() bool {
	for _, m := range r.messages {
		if len(m.expected) > 0 {
			return true
		}
	}

	return len(r.due) > 0
}

// late gives up on messages that should have arrived long ago.
func (r *storyRun) late() {
	for id, m := range r.messages {
		if len(m.expected) > 0 && time.Now().After(m.by) {
			r.disagree("%s: not in %v: %s", id, m.expected, m.what)
			m.expected = nil
		}
	}

	for id, by := range r.due {
		if time.Now().After(by) {
			r.disagree("%s: has not left by %s", id, by)
			delete(r.due, id)
		}
	}
}

func (r *storyRun) arrives(d amqp.Delivery) {
	r.t.Helper()
	if _, ok := r.due[d.MessageId]; (ok || r.undated[d.MessageId]) && strings.HasSuffix(d.ConsumerTag, ".sink") {
		delete(r.due, d.MessageId)
		must.Do(r.t, d.Ack(false))
		return
	}

	m := r.messages[d.MessageId]
	i := -1
	if m != nil {
		i = slices.Index(m.expected, d.ConsumerTag)
	}

	if i < 0 {
		said := "nothing"
		if m != nil {
			said = m.what
		}
		r.disagree("%s: in %s, and that was not expected: %s; x-death %v", d.MessageId, d.ConsumerTag, said,
			d.Headers["x-death"])
		must.Do(r.t, d.Ack(false))
		return
	}

	m.expected = slices.Delete(m.expected, i, i+1)
	if m.arrived = append(m.arrived, d); len(m.expected) > 0 {
		return
	}
	one := r.random.IntN(len(m.arrived))
	for i := range m.arrived {
		if i != one { // one copy continues
			must.Do(r.t, m.arrived[i].Ack(false))
		}
	}

	r.goOn(m, m.arrived[one])
}

// goOn lets a message expire, rejects it or republishes it.
func (r *storyRun) goOn(m *storyMessage, d amqp.Delivery) {
	r.t.Helper()
	ref := model.QueueRef{VHost: r.vhost, Name: d.ConsumerTag}
	seen := seenMessage(d)
	m.steps++

	ttl, expires := message.ParseExpiration(d.Expiration)
	if s := r.topology.Settings(ref).TTL; s.Set && (!expires || s.Value < ttl) {
		ttl, expires = s.Value, true
	}

	switch {
	case m.steps > 8:
		m.expect(nil, "acknowledged")
		must.Do(r.t, d.Ack(false))
	case r.chance(4):
		if r.topology.Settings(ref).KeepsDeadLetters() {
			m.expect(nil, "acknowledged: what no queue takes it keeps, and would deliver when one does")
			must.Do(r.t, d.Ack(false))
			return
		}
		m.expect(namesOf(r.topology.DeadLetter(ref, []string{seen.RoutingKey}, seen.Headers).Queues), "rejected in "+ref.Name)
		must.Do(r.t, d.Reject(false))
	case !expires || r.chance(4):
		r.republish(m, d, &seen)
	default:
		at := time.Now()
		r.predict(m, ref, &seen)
		r.nacks.Add(1)
		time.AfterFunc(time.Until(at.Add(ttl+5*time.Millisecond)), func() {
			_ = d.Nack(false, true) // it then expires
			r.nacks.Done()
		})
	}
}

// republish acts like workers that retry by themselves: it keeps the headers. From 4.0 such a message cannot be
// distinguished from a dead letter when it is sent where its newest death led it: those lose x-death here.
func (r *storyRun) republish(m *storyMessage, d amqp.Delivery, seen *message.Message) {
	r.t.Helper()
	exchange := r.pick(m.exchanges)
	key := r.key(m)
	headers := d.Headers
	if len(seen.Deaths) > 0 && !r.topology.Behaviour.CountsRepublishedDeaths &&
		r.topology.Settings(model.QueueRef{VHost: r.vhost, Name: seen.Deaths[0].Queue}).DLX.Value == exchange {
		delete(headers, "x-death")
	}

	r.republished++
	m.expect(namesOf(r.topology.Route(r.vhost, exchange, []string{key}, seen.Headers).Queues),
		fmt.Sprintf("published again to %q with %q", exchange, key))
	r.send(exchange, key, d.MessageId, headers)
	must.Do(r.t, d.Ack(false))
}

// predict expects what a message's story says about its next queues.
func (r *storyRun) predict(m *storyMessage, ref model.QueueRef, seen *message.Message) {
	r.t.Helper()
	look := lookAt(time.Now(), *seen)
	waiting := story.WaitingIn(r.topology, ref, look, story.Sight{})
	waiting.See(0, seen)
	wait := &waiting.Waits().Messages[0]
	events := story.Ahead(r.topology, seen, ref, wait, time.Now())
	i := slices.IndexFunc(events, func(e story.Event) bool { return e.Kind == story.Next })
	next := events[i]
	said := fmt.Sprintf("in %s: %s %s %s (%s); x-death %v", ref.Name, next.What, next.Where, next.Detail, next.Note,
		seen.Deaths)
	r.stories++

	if next.Where != "" {
		m.expect(strings.Split(next.Where, ", "), said)
		if wait.Cut {
			r.disagree("%s is cut, and has a next queue", said)
		}
		return
	}

	m.expect(nil, said)
	switch {
	case wait.Cut || strings.Contains(next.Note, "would return"):
		r.dropped++
	case strings.Contains(next.What, "stays"):
		r.kept++
	}
}

// fill puts messages into a buffer, most of them with their own TTL.
func (r *storyRun) fill(buffer string, from, n int) {
	r.t.Helper()
	for i := range n {
		p := amqp.Publishing{MessageId: fmt.Sprintf("%s.%d", buffer, from+i)}
		r.undated[p.MessageId] = true // if it leaves before the look, that says nothing about the others
		if !r.chance(6) {
			p.Expiration = strconv.Itoa(50 + r.random.IntN(400))
		}
		r.confirmed("", buffer, p)
	}
}

// look peeks at the messages of a buffer, and expects those that leave in its sink.
func (r *storyRun) look(buffer string) {
	r.t.Helper()
	var list message.MessageList
	look := must.Get(r.connection.Channel())(r.t)
	defer look.Close() // returns them
	at := time.Now()

	for {
		d, ok, err := look.Get(buffer, false)
		must.Do(r.t, err)
		if !ok {
			break
		}
		m := seenMessage(d)
		m.Position = len(list) + 1
		list = append(list, m)
	}

	waiting := story.WaitingIn(r.topology, model.QueueRef{VHost: r.vhost, Name: buffer},
		peek.Peeked{TakenAt: at, Messages: list, Depth: model.Some(int64(len(list)))}, story.Sight{})
	for i := range list {
		waiting.See(i, &list[i])
	}

	waits := waiting.Waits()
	for i := range list {
		id := list[i].Properties.MessageID
		delete(r.undated, id)
		switch {
		case waits == nil || waits.Messages[i].Leaves.Kind == story.DueUnknown:
			r.never++ // in the sink, it would be unexpected
		case !waits.Messages[i].Leaves.Known():
			r.earlier++
			r.undated[id] = true
		case time.Until(waits.Messages[i].Leaves.Time) > dueSlack:
			r.never++ // within the test
		default:
			r.dues++
			r.due[id] = waits.Messages[i].Leaves.Time.Add(dueSlack)
		}
	}
}

// dueSlack is how late a broker may be beside seven other programs: far later than a wrong due time.
const dueSlack = 20 * time.Second

// seenMessage converts a delivery as a look does.
func seenMessage(d amqp.Delivery) message.Message {
	m := received(d)
	m.Exchange = d.Exchange
	m.RoutingKey = d.RoutingKey
	m.Properties = message.Properties{MessageID: d.MessageId, Expiration: d.Expiration}
	m.Deaths, m.DeathsError = message.ParseDeaths(m.Headers)
	return m
}

// While dlxtop looks at a failed queue or a buffer, each keeps its role.
func TestOwnConsumersDoNotCount(t *testing.T) {
	s := newStage(t)
	// Messages with their own TTL wait in letters, although neither its name nor a setting says so.
	s.declare(`
		queue stock
		queue stock.failed
		queue mail
		buffer mail.later mail 3600000
		queue letters dlx= key=mail`)

	s.publish("letters", nil)
	s.publish("letters", nil)
	must.Do(s.t, s.channel.Qos(1, 0, false))
	consume := func(queue, tag string) {
		must.Get(s.channel.Consume(queue, tag, false, false, false, false, nil))(s.t)
	}

	told := func(queue string) (n int64) {
		var element queueElement
		must.Do(s.t, s.poll.getObject(t.Context(), "queues/"+s.vhost+"/"+queue, nil, &element))
		return element.Consumers.value
	}

	roles := func(queue string) (role model.Role, consumers model.Opt[int64]) {
		s.t.Helper()
		ref := s.ref(queue)
		topology := model.NewTopology(poll(t, s.poll))
		q, ok := topology.Queue(ref)
		must.That(t, ok, "there is no %s", queue)
		for _, f := range topology.FlowsOf(ref) {
			role = f.Role(ref)
		}
		return role, q.Consumers
	}

	want := map[string]model.Role{
		"stock.failed": model.FailedRole, "mail.later": model.DelayedBuffer, "letters": model.DelayedBuffer,
	}

	consumed := func(by string, times int64) {
		for queue := range want {
			consume(queue, by+queue)
		}
		consume("mail", "worker "+by)
		for queue := range want {
			must.Await(t, "the statistics know who consumes "+queue, func() bool { return told(queue) == times })
		}
	}

	consumed(model.ConsumerTag, 1)

	for queue, role := range want {
		r, n := roles(queue)
		assert.Equal(t, r, role, "while dlxtop reads it, %s with %v consumers", queue, n)
		assert.Equal(t, n, build.Some(0), "%v", queue)
	}

	consumed("archiver ", 2)
	for _, queue := range []string{"stock.failed", "mail.later"} {
		_, n := roles(queue)
		assert.That(t, n == build.Some(1), "beside another one, %s has %v consumers", queue, n)
	}
}
