package cases

import (
	"testing"

	"github.com/dlxtop/dlxtop/model/build"
)

// Dead letters that keys lead astray.
func TestKeys(t *testing.T) {
	play(t,
		situation{
			name: "a retry queue whose key is not bound", from: "a shop's manifest (c08)",
			parts: []build.Part{
				build.Exchange("topic", "events"), build.Exchange("direct", "dlx"),
				build.Queue("mail", build.DLX("dlx"), build.DeadKey("mail.failed"), build.Consumers(1)),
				build.Bind("events", "order.*", "mail"), build.Bind("events", "payment.*", "mail"),
				build.Queue("mail.failed"), build.Bind("dlx", "mail.failed", "mail.failed"),
				build.Queue("retry.30s", build.TTL(30_000), build.DLX("events"), build.DeadKey("mail.retry")),
			},
			says: []string{"error dead-letter-unroutable retry.30s: mail.retry"},
		},
	)
}
