package mgmt

import (
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
)

// Texts in arguments may be any bytes, the dead-letter routing key too: the API writes them in base64, and dlxtop has
// what they are. (The routing key of a binding may not: RabbitMQ ends the connection, 501.)
func TestBinaryRoutingKeys(t *testing.T) {
	b := realBroker(t)
	vhost := b.vhost("binary")
	connection := must.Get(dial.AMQP(b.AMQP() + vhost))(t)
	defer connection.Close()
	channel := must.Get(connection.Channel())(t)
	// the second is what somebody wrote himself
	const key, written = "\xff\x00\xfeorders", "Not UTF-8, base64 is: b3JkZXJz"
	for name, arguments := range map[string]amqp.Table{
		"other":  nil,
		"buffer": {"x-message-ttl": int64(60000), "x-dead-letter-exchange": "amq.direct", "x-dead-letter-routing-key": key},
	} {
		must.Get(channel.QueueDeclare(name, true, false, false, false, arguments))(t)
	}
	must.Do(t, channel.QueueBind("other", written, "amq.direct", false, nil))
	must.Do(t, channel.QueueBind("other", "", "amq.headers", false,
		amqp.Table{"x-match": "all", "bytes": key}))
	topology := model.NewTopology(poll(t, client(t, Options{URL: b.API(), VHost: vhost})))
	keys := map[string]string{}
	for _, binding := range topology.Snapshot.Bindings {
		switch binding.Source {
		case "amq.direct":
			keys[binding.Destination] = binding.RoutingKey
		case "amq.headers":
			keys["header"], _ = binding.Arguments.Text("bytes")
		}
	}
	assert.That(t, keys["other"] == written && keys["header"] == key, "keys %q", keys)
	ref := model.QueueRef{VHost: vhost, Name: "buffer"}
	set := topology.Settings(ref).Key
	assert.That(t, set.Value == key, "the dead-letter key is %q", set.Value)
}
