package mgmt

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/loss"
)

// destroyedSample is a line of metrics in the text format of Prometheus. Its order of labels is RabbitMQ's (3.10.8,
// 4.0.5, 4.3.6), and what is matched needs no escapes.
var destroyedSample = regexp.MustCompile(`(?m)^rabbitmq_global_messages_dead_lettered_(\w+)_total` +
	`\{queue_type="rabbit_(\w+)_queue",dead_letter_strategy="disabled"\} (\S+)$`)

// Destroyed reads from the metrics of each running node what it destroyed; nothing where the user may not see where
// nodes listen. No password is sent: RabbitMQ asks for none there unless prometheus.authentication.enabled is set.
func (c *Client) Destroyed(ctx context.Context) (all []loss.Destroyed) {
	at := c.members.Metrics(c.hosts.Current())
	for _, node := range slices.Sorted(maps.Keys(at)) {
		counts, err := c.destroyed(ctx, node, at[node])
		if err != nil {
			counts = []loss.Destroyed{{Node: node, Unknown: model.Beginning(err.Error(), 300)}}
		}
		all = append(all, counts...)
	}

	return all
}

// destroyed reads the metrics of a node at scheme://host:port, which must be its own.
func (c *Client) destroyed(ctx context.Context, node, at string) (counts []loss.Destroyed, err error) {
	_, address, tells := strings.Cut(at, "://")
	if !tells {
		return nil, fmt.Errorf("rabbitmq-plugins enable rabbitmq_prometheus on %s shows it, from when it started", node)
	}
	ctx = context.WithValue(ctx, attemptKey{}, &attempt{address: address})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at+"/metrics", nil)
	if err != nil {
		return nil, err
	}

	// A firewall may drop what is sent to that port. The client's clock is that of the node that answers polls.
	client := http.Client{Transport: bound{c.transport, &clock{}, c.most.list}, Timeout: 6 * time.Second}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}

	defer resp.Body.Close()
	metrics, err := io.ReadAll(resp.Body)
	text := string(metrics)
	for _, found := range destroyedSample.FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseFloat(found[3], 64)
		if err != nil {
			return nil, err
		}
		counts = append(counts, loss.Destroyed{
			Node: node, Type: model.QueueType(found[2]), Reason: model.Reason(found[1]), Messages: model.Some(int64(n)),
		})
	}

	if err == nil && !strings.Contains(text, "\nrabbitmq_identity_info{rabbitmq_node=\""+node+"\"") {
		err = fmt.Errorf("%s/metrics are not those of %s", at, node)
	}

	return counts, err
}
