package mgmt

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	rabbithole "github.com/michaelklishin/rabbit-hole/v2"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/depth"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/watch"
)

// TestSettingsAreWhatTheBrokerDoes declares queues with random arguments, policies and operator policies, of both
// types, and compares what happens to a message with the effective settings of the model. There are 40 such queues a
// round (`make truth`: 2,000). DLXTOP_SEED repeats a run.
func TestSettingsAreWhatTheBrokerDoes(t *testing.T) {
	queues := max(40, 40*size.Rounds(0))
	number := seed.Number(t)
	cases, wrong := 0, 0
	for round := 0; cases < queues; round++ {
		s := &settingsTrial{t: t, random: rand.New(rand.NewPCG(number, uint64(round)))}
		n, disagreements := s.run(fmt.Sprintf("settings-%d", round))
		cases += n
		wrong += len(disagreements)
		for _, d := range disagreements {
			t.Errorf("round %d: %s", round, d)
		}
		must.That(t, wrong <= 20, "more than 20 disagreements: the rest is not looked at")
	}

	t.Logf("%d cases, %d disagreements", cases, wrong)
}

// settingsTrial is a vhost with queues whose settings are random.
type settingsTrial struct {
	t       *testing.T
	random  *rand.Rand
	vhost   string
	channel *amqp.Channel
	subject []string
}

const (
	soon = 150    // ms: a TTL that ends within the test
	late = 600000 // ms: one that does not
)

// chance is true once in n times.
func (s *settingsTrial) chance(n int) bool { return s.random.IntN(n) == 0 }

// settings are random values by policy key.
func (s *settingsTrial) settings(operator bool) map[string]any {
	d := map[string]any{}
	if s.chance(2) {
		d["message-ttl"] = []int{soon, late}[s.random.IntN(2)]
	}
	if s.chance(3) {
		d["max-length"] = []int{1, 100}[s.random.IntN(2)]
	}

	if !operator {
		if s.chance(2) {
			d["dead-letter-exchange"] = []string{"x1", "x2"}[s.random.IntN(2)]
		}
		if s.chance(3) {
			d["dead-letter-routing-key"] = []string{"k1", "k2"}[s.random.IntN(2)]
		}
		if s.chance(3) {
			d["overflow"] = []string{"drop-head", "reject-publish"}[s.random.IntN(2)]
		}
	}

	return d
}

// policy sets a policy for one queue, sometimes with a key that classic queues do not support.
func (s *settingsTrial) policy(b broker, operator bool, name, queue string, priority int, definition map[string]any) {
	if len(definition) == 0 {
		return
	}
	b.api().SetPolicy(operator, rabbithole.Policy{
		Vhost: s.vhost, Name: name, Pattern: "^" + queue + "$", ApplyTo: "queues", Priority: priority, Definition: definition,
	})
}

func (s *settingsTrial) run(vhost string) (int, []string) {
	b := realBroker(s.t)
	s.vhost = b.vhost(vhost)
	s.channel = dial.Channel(s.t, b.AMQP()+vhost)
	for _, x := range []string{"x1", "x2"} {
		must.Do(s.t, s.channel.ExchangeDeclare(x, "fanout", true, false, false, false, nil))
		must.Get(s.channel.QueueDeclare("dead."+x, true, false, false, false, nil))(s.t)
		must.Do(s.t, s.channel.QueueBind("dead."+x, "", x, false, nil))
	}

	s.policy(b, false, "all", `q\d+`, 0, s.settings(false))
	for i := range 40 {
		s.declare(b, fmt.Sprintf("q%d", i))
	}

	c := client(s.t, Options{URL: b.API(), VHost: vhost})
	snapshot := pollUntil(s.t, c, "the policies of all queues are reported", func(snapshot *model.Snapshot) bool {
		known := 0
		for i := range snapshot.Queues {
			if q := &snapshot.Queues[i]; q.PolicyDefinition != nil && q.State != "" && q.ReadyBytes.Known() {
				known++
			}
		}
		return known == len(s.subject)+2
	})

	return len(s.subject), s.compare(model.NewTopology(snapshot))
}

func (s *settingsTrial) declare(b broker, name string) {
	s.policy(b, false, name, name, 1, s.settings(false))
	if s.chance(3) {
		other := s.settings(false)
		if s.chance(2) {
			other["delivery-limit"] = 5 // classic queues do not support it: they skip the whole policy
		}
		s.policy(b, false, name+"-high", name, 2, other)
	}

	if s.chance(2) {
		s.policy(b, true, name+"-operator", name, 1, s.settings(true))
	}

	arguments := amqp.Table{}
	for key, v := range s.settings(false) {
		if n, ok := v.(int); ok {
			v = int64(n)
		}
		arguments["x-"+key] = v
	}

	if arguments["x-dead-letter-exchange"] == nil {
		delete(arguments, "x-dead-letter-routing-key") // the broker refuses it alone (406)
	}
	if s.chance(2) {
		arguments["x-queue-type"] = "quorum"
	}

	must.Get(s.channel.QueueDeclare(name, true, false, false, false, arguments))(s.t)
	s.subject = append(s.subject, name)
}

// fate is what happened to messages that were put into a queue one after the other.
type fate struct {
	refused bool // one was refused: reject-publish
	left    int  // messages still there after all short TTLs
	dead    []string
}

func (f fate) String() string {
	return fmt.Sprintf("refused %v, %d still there, dead letters %v", f.refused, f.left, f.dead)
}

// refuses reports whether a queue holding one message refuses more.
func refuses(s model.Settings) bool {
	return s.MaxLength.Set && s.MaxLength.Value == 1 && s.Overflow.Value == "reject-publish"
}

// predicted returns the fate by a queue's effective settings for this number of accepted messages.
func predicted(s model.Settings, name string, accepted int) fate {
	f := fate{refused: refuses(s), left: accepted}
	leaving := 0
	if s.MaxLength.Set && s.MaxLength.Value == 1 && !f.refused {
		leaving, f.left = accepted-1, 1 // the older ones make room for the last
	}

	if s.TTL.Set && s.TTL.Value == soon*time.Millisecond {
		leaving += f.left
		f.left = 0
	}

	if s.DLX.Set {
		key := name
		if s.Key.Set {
			key = s.Key.Value
		}
		for range leaving {
			f.dead = append(f.dead, s.DLX.Value+" "+key)
		}
	}

	return f
}

func (s *settingsTrial) compare(topology *model.Topology) (disagreements []string) {
	want, got := map[string]fate{}, map[string]fate{}
	letters := 0
	for _, name := range s.subject {
		settings := topology.Settings(model.QueueRef{VHost: s.vhost, Name: name})
		var f fate
		accepted := 0
		// A quorum queue only refuses some messages later: its limit is a soft one.
		for most := map[bool]int{false: 2, true: 200}[refuses(settings)]; accepted < most && !f.refused; {
			taken := dial.Send(s.t, s.channel, "", name, amqp.Publishing{MessageId: name})
			if f.refused = !taken; taken {
				accepted++
			}
		}

		got[name] = f
		want[name] = predicted(settings, name, accepted)
		letters += len(want[name].dead)
	}

	// The last message's TTL ends after all others: a queue with the same TTL shows when.
	dial.Queue(s.t, s.channel, "clock", amqp.Table{"x-message-ttl": int64(4 * soon)})
	dial.Send(s.t, s.channel, "", "clock", amqp.Publishing{})
	must.Await(s.t, "the short TTLs have ended", func() bool { return s.depth("clock") == 0 })
	dead := map[string][]string{}
	arrived := 0
	take := func() {
		for _, x := range []string{"x1", "x2"} {
			for _, d := range dial.Drain(s.t, s.channel, "dead."+x) {
				dead[d.MessageId] = append(dead[d.MessageId], x+" "+d.RoutingKey)
				arrived++
			}
		}
	}

	for deadline := time.Now().Add(patience); arrived < letters && time.Now().Before(deadline); {
		take()
	}

	take()
	for _, name := range s.subject {
		f := got[name]
		w := want[name]

		// A queue may still count messages for a moment after they left.
		f.left, f.dead = s.depth(name), dead[name]
		for deadline := time.Now().Add(5 * time.Second); f.left > w.left && time.Now().Before(deadline); {
			f.left = s.depth(name)
		}

		if w.refused != f.refused || w.left != f.left || !slices.Equal(w.dead, f.dead) {
			ref := model.QueueRef{VHost: s.vhost, Name: name}
			q, _ := topology.Queue(ref)
			disagreements = append(disagreements,
				fmt.Sprintf("%s (%s, arguments %v, policy %q, operator policy %q, definition %v): the broker: %v, the model: %v",
					name, q.Type, q.Arguments, q.Policy, q.OperatorPolicy, q.PolicyDefinition, f, w))
		}
	}

	return disagreements
}

func (s *settingsTrial) depth(queue string) int {
	return depth.Of(s.t, s.channel, queue)
}

func TestFindingLosingNow(t *testing.T) {
	s := newStage(t)
	s.declare(`
		queue full max-length=1 reject-publish
		queue open
		buffer to.full full 200
		buffer to.open open 200`)

	s.publish("full", nil) // from now on it refuses
	known := func(snapshot *model.Snapshot) bool {
		return !slices.ContainsFunc(snapshot.Queues, func(q model.Queue) bool {
			return !q.Ready.Known() || q.PolicyDefinition == nil || !q.Consumers.Known()
		})
	}

	before := pollUntil(t, s.poll, "all queues are known", func(snapshot *model.Snapshot) bool {
		return known(snapshot) && find(t, snapshot, "full").Published.Or(0) == 1 && find(t, snapshot, "full").Ready.Or(0) == 1
	})

	for range 20 {
		s.publish("to.full", nil)
		s.publish("to.open", nil)
	}

	s.awaitDepth("open", 20)
	s.awaitDepth("to.full", 0)
	must.Equal(t, s.depth("full"), 1, "the full queue")
	var found []findings.Finding
	pollUntil(t, s.poll, "the statistics have it, over a long enough time", func(after *model.Snapshot) bool {
		if !known(after) || find(t, after, "open").Ready.Or(0) != 20 || find(t, after, "to.full").Published.Or(0) != 20 {
			return false
		}
		over := after.TakenAt.Sub(before.TakenAt)
		moves := watch.Polls(nil).After(model.MovesBetween(before, after), over).Moves()
		found = findings.LosingNow(model.NewTopology(after), moves, over)
		return over > 11*time.Second
	})

	must.Equal(t, len(found), 1, "20 messages were lost behind to.full, none behind to.open; found: %+v", found)
	assert.Equal(t, found[0].Queue, "to.full")
	assert.Contains(t, found[0].Message, "20 messages")
}

func TestFindingBlockedHead(t *testing.T) {
	s := newStage(t)
	s.declare("queue w\nqueue rising dlx= key=w\nqueue falling dlx= key=w")
	published := time.Now().Truncate(time.Second)
	publish := func(queue string, position int, expiration string) message.Message {
		s.confirmed("", queue, amqp.Publishing{Expiration: expiration, Timestamp: published})
		return message.Message{Position: position, Properties: message.Properties{
			Expiration: expiration, Timestamp: published,
		}}
	}

	publish("rising", 1, "100")
	publish("rising", 2, "200")
	messages := []message.Message{
		publish("falling", 1, "600000"), publish("falling", 2, "200"), publish("falling", 3, "100"),
	}
	s.awaitDepth("rising", 0)
	must.Equal(t, s.depth("falling"), 3, "messages wait behind the long TTL, though the head holds all")
	topology := s.known("falling")
	falling := s.ref("falling")
	now := time.Now().Add(time.Second) // timestamps have whole seconds
	found := findings.In(topology, falling, lookAt(now, messages...)).Found()
	must.Equal(t, len(found), 1, "two messages wait for the first: %+v", found)
	assert.Equal(t, found[0].Code, "head-of-line-blocked")
	assert.Contains(t, found[0].Message, "2 messages")
	found = findings.In(topology, falling, lookAt(now, messages[2:]...)).Found()
	assert.That(t, len(found) == 0, "nothing is before the last one: %+v", found)
}

// lookAt returns a look that found these messages.
func lookAt(at time.Time, messages ...message.Message) peek.Peeked {
	return peek.Peeked{Messages: message.MessageList(messages), TakenAt: at}
}

// received converts a delivery, as far as these findings need it.
func received(d amqp.Delivery) message.Message {
	return message.Message{Position: 1, Headers: modelTable(d.Headers), Redelivered: d.Redelivered}
}

func TestFindingNearDeliveryLimit(t *testing.T) {
	s := newStage(t)
	s.declare("quorum a delivery-limit=3")
	s.publish("a", nil)
	ref := s.ref("a")

	topology := s.known("a")
	for round := range 4 {
		d := s.take("a")
		found := findings.In(topology, ref, lookAt(time.Now(), received(d))).Found()
		// Where returns count, a look that takes a message at its limit rescues it: there is nothing left to warn of.
		rescued := round == 3 && topology.Behaviour.ReturnCountsAsDelivery
		assert.Equal(t, round >= 1 && !rescued, len(found) == 1, "after %d returns of 3: %+v", round, found)
		must.Do(s.t, d.Reject(true))
	}

	s.awaitDepth("a", 0) // one more, and it was lost
}

func TestFindingCopies(t *testing.T) {
	s := newStage(t)
	s.declare("queue a\nqueue b")
	s.publish("a", amqp.Table{"CC": []any{"b"}})
	s.publish("a", nil)
	s.awaitDepth("b", 1) // the copy
	ref := s.ref("a")
	topology := model.NewTopology(poll(t, s.poll))
	found := findings.In(topology, ref, lookAt(time.Now(), received(s.take("a")))).Found()
	must.Equal(t, len(found), 1, "a message with CC: %+v", found)
	assert.Equal(t, found[0].Code, "copies")
	found = findings.In(topology, ref, lookAt(time.Now(), received(s.take("a")))).Found()
	assert.That(t, len(found) == 0, "a message without: %+v", found)
}

// copyKeys declares two workers whose failures wait in one buffer that they reach through CC, and leave by their first
// key, as in Rascal's documentation. hold makes the buffer keep its messages.
func copyKeys(s *stage, hold time.Duration) {
	s.declare(`
		exchange topic delay
		exchange topic retry
		queue save
		queue delete
		queue delay:5s dlx=retry ttl=` + fmt.Sprint(hold.Milliseconds()) + `
		bind delay delay.5s delay:5s
		bind retry save.# save
		bind retry delete.# delete`)
}

// retries publishes a failed message as Rascal does.
func (s *stage) retries(key string) {
	s.t.Helper()
	s.confirmed("delay", key, amqp.Publishing{Headers: amqp.Table{"CC": []any{"delay.5s"}}, Body: []byte("m")})
}

// A buffer whose messages leave by their own key, which no binding shows, is a part of the flows behind it. The
// broker's counts at a worker show that they arrive.
func TestMessagesThatCCLeadsIntoABuffer(t *testing.T) {
	s := newStage(t)
	copyKeys(s, 50*time.Millisecond)
	f := s.finds("dead-letter-unroutable", "delay:5s")
	assert.Equal(t, f.Level, findings.LevelWarning, "nothing has arrived yet: %+v", f)
	assert.Contains(t, f.Evidence, "other keys reach delete, save")
	for range 3 {
		s.retries("save.created")
		got := s.take("save")
		must.Do(s.t, got.Ack(false))
	}

	s.silent("dead-letter-unroutable")
	topology := model.NewTopology(poll(t, s.poll))
	for _, worker := range []string{"save", "delete"} {
		i := slices.IndexFunc(topology.Flows(), func(f model.Flow) bool { return f.Name == worker })
		must.That(t, i >= 0, "the buffer is not in the flow of %s: %+v", worker, topology.Flows())
		assert.Equal(t, topology.Flows()[i].Role(s.ref("delay:5s")), model.DelayedBuffer, "%v",
			worker)
	}
}

// Peeked messages, in the buffer or behind it, show where they go, and which will be lost.
func TestMessagesShowTheirWays(t *testing.T) {
	s := newStage(t)
	copyKeys(s, time.Hour)
	s.declare("queue soon ttl=50 dlx=retry\nbind delay delay.now soon")
	s.retries("save.created")
	s.confirmed("delay", "delay.5s", amqp.Publishing{Body: []byte("stray")})
	s.confirmed("delay", "delete.x", amqp.Publishing{Headers: amqp.Table{"CC": []any{"delay.now"}}, Body: []byte("m")})
	topology := s.known("delay:5s", "soon")

	look := func(queue string, n int) *findings.Reading {
		reading := findings.ReadingOf(topology, s.ref(queue), time.Now(), nil)
		for range n {
			d := s.take(queue)
			m := seenMessage(d)
			reading.See(&m)
		}
		return reading
	}

	waiting := look("delay:5s", 2)
	behind := look("delete", 1)
	assert.Equal(t, fmt.Sprint(waiting.Seen().To), fmt.Sprintf("map[%s/delay:5s:[%s/save]]", s.vhost, s.vhost))
	assert.Equal(t, fmt.Sprint(behind.Seen().To), fmt.Sprintf("map[%s/soon:[%s/delete]]", s.vhost, s.vhost))
	lost := slices.DeleteFunc(waiting.Found(), func(f findings.Finding) bool { return f.Code != "dead-letter-unroutable" })
	must.Equal(t, len(lost), 1, "one message keeps a key that leads nowhere: %+v", lost)
	assert.Equal(t, lost[0].Level, findings.LevelError)
	assert.Contains(t, lost[0].Message, "1 message will be lost")
}

// modelTable converts a table of headers with nested tables.
func modelTable(t amqp.Table) model.Table {
	out := model.Table{}
	for key, v := range t {
		if list, ok := v.([]any); ok {
			list = slices.Clone(list)
			for i := range list {
				if inner, ok := list[i].(amqp.Table); ok {
					list[i] = modelTable(inner)
				}
			}
			v = list
		}

		out[key] = v
	}

	return out
}
