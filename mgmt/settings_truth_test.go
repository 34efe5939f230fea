package mgmt

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/depth"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model"
)

// TestSettingsAreWhatTheBrokerDoes declares queues with random arguments, policies and operator policies, of both
// types, and compares what happens to a message with the effective settings that the model works out. There
// are 40 such queues a round (`make truth`: 2,000). DLXTOP_SEED repeats a run.
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

// settingsTrial is one vhost with queues whose settings are random.
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

// settings are random values under the names of a policy.
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
func (s *settingsTrial) policy(b broker, kind, name, queue string, priority int, definition map[string]any) {
	if len(definition) == 0 {
		return
	}
	body := must.Get(json.Marshal(map[string]any{
		"pattern": "^" + queue + "$", "apply-to": "queues", "priority": priority,
		"definition": definition,
	}))(s.t)
	b.put(kind+"/"+s.vhost+"/"+name, string(body))
}

func (s *settingsTrial) run(vhost string) (int, []string) {
	b := realBroker(s.t)
	s.vhost = b.vhost(vhost)
	connection := must.Get(dial.AMQP(b.AMQP() + vhost))(s.t)
	defer connection.Close()
	s.channel = must.Get(connection.Channel())(s.t)
	must.Do(s.t, s.channel.Confirm(false))
	for _, x := range []string{"x1", "x2"} {
		must.Do(s.t, s.channel.ExchangeDeclare(x, "fanout", true, false, false, false, nil))
		must.Get(s.channel.QueueDeclare("dead."+x, true, false, false, false, nil))(s.t)
		must.Do(s.t, s.channel.QueueBind("dead."+x, "", x, false, nil))
	}
	for i := range 40 {
		s.declare(b, fmt.Sprintf("q%d", i))
	}
	c := client(s.t, Options{URL: b.API(), VHost: vhost})
	snapshot := pollUntil(s.t, c, "the policies of all queues are told", func(snapshot *model.Snapshot) bool {
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
	s.policy(b, "policies", name, name, 1, s.settings(false))
	if s.chance(3) {
		other := s.settings(false)
		if s.chance(2) {
			other["delivery-limit"] = 5 // classic queues do not support it: the whole policy is skipped for them
		}
		s.policy(b, "policies", name+"-high", name, 2, other)
	}
	if s.chance(2) {
		s.policy(b, "operator-policies", name+"-operator", name, 1, s.settings(true))
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

// fate is what became of the messages that were put into a queue one after the other.
type fate struct {
	refused bool // one was refused: reject-publish
	left    int  // messages still there when all short TTLs have ended
	dead    []string
}

func (f fate) String() string {
	return fmt.Sprintf("refused %v, %d still there, dead letters %v", f.refused, f.left, f.dead)
}

// refuses reports whether a queue refuses messages when it has one.
func refuses(s model.Settings) bool {
	return s.MaxLength.Set && s.MaxLength.Value == 1 && s.Overflow.Value == "reject-publish"
}

// predicted is the fate that a queue's effective settings mean for so many messages that it accepted.
func predicted(s model.Settings, name string, accepted int) fate {
	f := fate{refused: refuses(s), left: accepted}
	leaving := 0
	if s.MaxLength.Set && s.MaxLength.Value == 1 && !f.refused {
		leaving, f.left = accepted-1, 1 // the older ones, for the last
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
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	want, got := map[string]fate{}, map[string]fate{}
	letters := 0
	for _, name := range s.subject {
		settings := topology.Settings(model.QueueRef{VHost: s.vhost, Name: name})
		var f fate
		accepted := 0
		// A quorum queue refuses late by some messages: its limit is a soft one.
		for most := map[bool]int{false: 2, true: 200}[refuses(settings)]; accepted < most && !f.refused; {
			c := must.Get(s.channel.PublishWithDeferredConfirmWithContext(ctx, "", name, false, false,
				amqp.Publishing{MessageId: name}))(s.t)
			taken := must.Get(c.WaitContext(ctx))(s.t)
			if f.refused = !taken; taken {
				accepted++
			}
		}
		got[name] = f
		want[name] = predicted(settings, name, accepted)
		letters += len(want[name].dead)
	}
	// The last message's TTL ends after all others: a queue of the same TTL tells when.
	_, err := s.channel.QueueDeclare("clock", true, false, false, false, amqp.Table{"x-message-ttl": int64(4 * soon)})
	must.Do(s.t, err)
	c, err := s.channel.PublishWithDeferredConfirmWithContext(ctx, "", "clock", false, false, amqp.Publishing{})
	must.Do(s.t, err)
	_, err = c.WaitContext(ctx)
	must.Do(s.t, err)
	await(s.t, "the short TTLs have ended", func() bool { return s.depth("clock") == 0 })
	dead := map[string][]string{}
	arrived := 0
	take := func() {
		for _, x := range []string{"x1", "x2"} {
			for {
				d, ok, err := s.channel.Get("dead."+x, true)
				must.Do(s.t, err)
				if !ok {
					break
				}
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
		// A queue may count what has left it for a moment still.
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
