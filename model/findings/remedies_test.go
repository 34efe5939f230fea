package findings

import (
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/build"
)

// A remedy changes what sets the limit: RabbitMQ takes no limit of a policy where an argument or an operator policy has
// a positive one, and before 4.0 a negative limit drops messages (measured on 3.10.8, 4.0.5).
func TestRemedyOfADeliveryLimit(t *testing.T) {
	for _, c := range []struct{ name, version, failed, want string }{
		{"of RabbitMQ", "4.0.5", "quorum w.failed", "set delivery-limit -1 by policy, or use a classic queue"},
		{
			"of a policy", "4.0.5", "quorum w.failed policy=p,delivery-limit=5",
			"change delivery-limit in the policy p, to -1, or use a classic queue",
		},
		{
			"of an argument", "4.0.5", "quorum w.failed x-delivery-limit=5",
			"delete the queue and declare it with another x-delivery-limit (a policy does not change an argument), to -1, or",
		},
		{
			"of an argument, before 4.0", "3.10.8", "quorum w.failed x-delivery-limit=5",
			"delete the queue and declare it without x-delivery-limit",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := Of(build.Described(c.version, "queue w consumers=1 dlx= key=w.failed\n"+c.failed))
			must.Equal(t, len(found), 1, "findings %v", codes(found))
			assert.Contains(t, found[0].Remedy, c.want)
		})
	}
}
