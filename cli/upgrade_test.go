package cli_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model"
)

// beforeUpgrade is a queue before an upgrade.
type beforeUpgrade struct {
	Queue     string
	Arguments amqp.Table
	Code      string
	Then      int
}

// old declares the queues on a vhost, each with a message, and keeps an old application connected until end is called.
func (v *vhost) old(tests []beforeUpgrade) (end func()) {
	v.t.Helper()
	for _, test := range tests {
		v.declare(test.Queue, test.Arguments)
		dial.Publish(v.t, v.channel, test.Queue, amqp.Publishing{DeliveryMode: amqp.Persistent})
	}

	connection := must.Get(amqp.DialConfig(v.url(), smallFrames))(v.t)
	channel := must.Get(connection.Channel())(v.t)
	must.Do(v.t, channel.Qos(7, 0, true))
	must.Get(channel.Consume("plain", "", false, false, false, false, nil))(v.t)
	must.Get(v.channel.Consume("worked", "", false, false, false, false, nil))(v.t)
	return func() { connection.Close() }
}

var smallFrames = amqp.Config{FrameSize: 4096, Properties: amqp.Table{"product": "small"}}

// finds wants these findings of an upgrade, and of the old application.
func (v *vhost) finds(tests []beforeUpgrade, to string) {
	v.t.Helper()
	want := []string{"frame_max 4,096: small of user guest"}
	if !model.ParseVersion(node.Version()).AtLeast(4, 0) { // later ones do not say who uses it
		want = append(want, "global prefetch 7: ")
	}
	for _, test := range tests {
		if test.Code != "" {
			want = append(want, test.Queue+"  ("+test.Code+")")
		}
	}

	must.Await(v.t, "all is known", func() bool {
		r := v.run("findings -o table --upgrade-to", to).ends(v.t, cli.ExitRefused)
		return !slices.ContainsFunc(want, func(words string) bool { return !strings.Contains(r.out, words) })
	})
}

func TestWhatAnUpgradeChanges(t *testing.T) {
	if model.ParseVersion(node.Version()).AtLeast(4, 3) {
		run(t, "findings", "--upgrade-to", "4.5").refuses(t, cli.ExitUsage, "from 4.0 to 4.4")
		return
	}
	tests := must.Cases[beforeUpgrade](t, "testdata/upgrade.toml")
	v := newVHost(t)
	defer v.old(tests)()
	v.finds(tests, "4.3")
}

// What the findings say holds on a node that is really upgraded. There is no RabbitMQ between 3.10 and 4.0 here, so the
// way from 3.10 ends where the finding says.
func TestUpgradeOfARealNode(t *testing.T) {
	size.Long(t)
	matrix := filepath.Join(must.Get(os.UserCacheDir())(t), "dlxtop", "matrix")
	server := func(version string) string { return filepath.Join(matrix, version, "bin", "rabbitmq-server") }
	if _, err := os.Stat(server("4.3")); err != nil {
		t.Skip("make matrix sets up what this needs: ", err)
	}

	shared := node
	node = must.Get(demo.Start(t.Context(), demo.Options{Server: server("4.0")}))(t)
	t.Cleanup(func() {
		must.Do(t, node.Stop())
		node = shared
	})
	tests := must.Cases[beforeUpgrade](t, "testdata/upgrade.toml")
	v := newVHost(t)
	end := v.old(tests)
	v.finds(tests, "4.3")
	end()

	must.Do(t, node.Halt())
	node.Replace(server("4.3"))
	must.Do(t, node.Resume(t.Context()))
	for _, test := range tests {
		v.channel = dial.Channel(t, v.url())
		v.holds(test.Queue, 1)
		_, err := v.channel.QueueDeclare(test.Queue+"-anew", true, false, false, false, test.Arguments)
		var refused *amqp.Error
		got := 0
		if errors.As(err, &refused) {
			got = refused.Code
		}
		assert.Equal(t, got, test.Then, "%s: %v", test.Queue, err)
	}

	_, err := amqp.DialConfig(v.url(), smallFrames)
	assert.That(t, err != nil, "frames of 4,096 bytes are accepted")
	v.channel = dial.Channel(t, v.url())
	dial.Publish(t, v.channel, "plain", amqp.Publishing{})
	must.Do(t, v.channel.Qos(1, 0, true))
	for range 2 {
		must.Get(v.channel.Consume("plain", "", false, false, false, false, nil))(t)
	}
	v.holds("plain", 0) // each consumer has one
}

// 4.0 does not start on the data of 3.10, which are unharmed.
func TestUpgradeInOneStepIsRefused(t *testing.T) {
	size.Long(t)
	server := filepath.Join(must.Get(os.UserCacheDir())(t), "dlxtop", "matrix", "4.0", "bin", "rabbitmq-server")
	if _, err := os.Stat(server); err != nil || model.ParseVersion(node.Version()).AtLeast(3, 11) {
		t.Skip("it needs 3.10 and 4.0")
	}

	n := must.Get(demo.Start(t.Context(), demo.Options{}))(t)
	defer n.Stop()
	dial.Queue(t, dial.Channel(t, n.AMQP()), "kept", nil)
	must.Do(t, n.Halt())
	old := n.Replace(server)
	err := n.Resume(t.Context())
	must.Fails(t, err, "failed_to_initialize_feature_flags_registry")
	n.Replace(old)
	must.Do(t, n.Resume(t.Context()))
	_ = must.Get(dial.Channel(t, n.AMQP()).QueueDeclarePassive("kept", true, false, false, false, nil))(t)
}
