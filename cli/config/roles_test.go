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
	type expected struct {
		Name, File, Context string
		Want                string // the role of orders.parking in the vhost shop
		Refused             string
	}
	must.Run(t, "testdata/roles.toml", func(t *testing.T, test expected) {
		home := t.TempDir()
		must.Do(t, os.MkdirAll(filepath.Join(home, "dlxtop"), 0o700))

		must.Do(t, os.WriteFile(filepath.Join(home, "dlxtop", "config.toml"), []byte(test.File), 0o600))
		flags := Flags{Context: test.Context}
		if test.Context == "" {
			flags.URL = "amqp://localhost"
		}

		c, err := flags.Connection(func(name string) string {
			return map[string]string{"XDG_CONFIG_HOME": home}[name]
		})

		if test.Refused != "" {
			must.That(t, err != nil, "it is accepted")
			assert.Contains(t, err.Error(), test.Refused)
			return
		}

		must.Do(t, err)
		role := ""
		if own := c.Roles.Of(model.QueueRef{VHost: "shop", Name: "orders.parking"}); len(own) > 0 {
			role = string(own[0].Role)
		}

		assert.Equal(t, role, test.Want)
	})
}
