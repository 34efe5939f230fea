package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
)

// Roles of queues: what the file states for a broker, and what is refused with one sentence.
func TestRoles(t *testing.T) {
	const shop = "[contexts.shop]\nurl = \"amqp://localhost\"\n"
	for _, test := range []struct {
		name, file string
		flags      Flags
		want       string // the role of orders.parking in the vhost shop
		refused    string
	}{
		{"for all brokers", "[roles]\n\"*.parking\" = \"parked\"\n", Flags{URL: "amqp://localhost"}, "parked", ""},
		{
			"of a context, which comes first",
			"[roles]\n\"orders.parking\" = \"parked\"\n" + shop + "[contexts.shop.roles]\n\"shop/*\" = \"ignored\"\n",
			Flags{Context: "shop"},
			"ignored", "",
		},
		{
			"of another context", shop + "[contexts.shop.roles]\n\"*\" = \"ignored\"\n", Flags{URL: "amqp://localhost"}, "", "",
		},

		{
			"an unknown word", "[roles]\n\"x\" = \"parkd\"\n",
			Flags{URL: "amqp://localhost"},
			"",
			`[roles] "x" has the role "parkd": it is "delayed", "retry", "worker", "failed", "parked" or "ignored"`,
		},
		{
			"an unknown word in a context", shop + "[contexts.shop.roles]\n\"x\" = \"\"\n",
			Flags{Context: "shop"},
			"",
			`[contexts.shop.roles] "x" has the role ""`,
		},
		{"no queue", "[roles]\n\"\" = \"parked\"\n", Flags{URL: "amqp://localhost"}, "", "names no queue"},
		{"no text", "[roles]\nx = 7\n", Flags{URL: "amqp://localhost"}, "", "roles.x has the wrong type"},
		{"a queue twice", "[roles]\nx = \"parked\"\nx = \"failed\"\n", Flags{URL: "amqp://localhost"}, "", "line 3"},
	} {
		t.Run(test.name, func(t *testing.T) {
			home := t.TempDir()
			must.Do(t, os.MkdirAll(filepath.Join(home, "dlxtop"), 0o700))

			must.Do(t, os.WriteFile(filepath.Join(home, "dlxtop", "config.toml"), []byte(test.file), 0o600))
			c, err := test.flags.Connection(func(name string) string {
				return map[string]string{"XDG_CONFIG_HOME": home}[name]
			})

			if test.refused != "" {
				must.That(t, err != nil, "it is accepted")
				assert.Contains(t, err.Error(), test.refused)
				return
			}

			must.Do(t, err)
			role := ""
			if own := c.Roles.Of(model.QueueRef{VHost: "shop", Name: "orders.parking"}); len(own) > 0 {
				role = string(own[0].Role)
			}

			assert.Equal(t, role, test.want)
		})
	}
}
