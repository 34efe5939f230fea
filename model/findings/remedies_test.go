package findings

import (
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/build"
)

// A remedy changes what sets the limit: RabbitMQ takes no limit of a policy where an argument or an operator policy has
// a positive one, and before 4.0 a negative limit drops messages (measured on 3.10.8, 4.0.5).
func TestRemedies(t *testing.T) {
	type remedied struct{ Name, Version, Parts, Says, Want string }
	must.Run(t, "testdata/remedies.toml", func(t *testing.T, c remedied) {
		found := Of(build.Described(c.Version, c.Parts))
		must.That(t, len(found) > 0, "no finding")
		assert.Contains(t, found[0].Message, c.Says)
		assert.Contains(t, found[0].Remedy, c.Want)
	})
}
