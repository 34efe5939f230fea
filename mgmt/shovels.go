package mgmt

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	rabbithole "github.com/michaelklishin/rabbit-hole/v2"

	"github.com/dlxtop/dlxtop/model"
)

// shovelElement is the status of one shovel: rabbit-hole's has neither its ends nor what remains.
type shovelElement struct {
	placed
	State        field[string]          `json:"state"`
	Since        field[string]          `json:"timestamp"`
	Why          field[string]          `json:"reason"`
	From         field[string]          `json:"src_uri"` // these and what follows only while it runs
	To           field[string]          `json:"dest_uri"`
	Queue        field[string]          `json:"src_queue"`
	FromExchange field[string]          `json:"src_exchange"`
	FromKey      field[string]          `json:"src_exchange_key"`
	DestQueue    field[string]          `json:"dest_queue"`
	DestExchange field[string]          `json:"dest_exchange"`
	DestKey      field[string]          `json:"dest_exchange_key"`
	Remaining    field[json.RawMessage] `json:"remaining"` // from 4.3: "unlimited", or the messages until it ends
}

// The columns of definitions and links: without any of its own, a definition is written as a list.
const (
	definitionColumns = "name,vhost,value.src-delete-after,value.ack-mode,value.src-uri,value.src-queue," +
		"value.src-exchange,value.src-exchange-key,value.dest-uri,value.dest-queue,value.dest-exchange," +
		"value.dest-exchange-key"
	upstreamColumns = "name,vhost,value.uri,value.ack-mode"
	linkColumns     = "vhost,type,upstream,status,timestamp,error,uri,queue,exchange,upstream_queue,upstream_exchange"
)

// readShovels reads shovels and federation links, of which only users with the tag monitoring may know, and only where
// the plugins are enabled that tell of them: other requests would be refused at each poll (401, 404).
func (c *Client) readShovels(ctx context.Context, s *model.Snapshot) {
	i := slices.IndexFunc(s.Nodes, func(n model.Node) bool { return n.Name == s.Overview.Node })
	if i < 0 {
		s.ShovelsUnknown = "only users with the tag monitoring may read shovels and federation links"
		return
	}

	for plugin, read := range map[string]func(context.Context, *model.Snapshot) ([]model.Shovel, error){
		"rabbitmq_shovel_management": c.shovels, "rabbitmq_federation_management": c.links,
	} {
		if !slices.Contains(s.Nodes[i].Plugins, plugin) {
			continue
		}
		read, err := read(ctx, s)
		if err != nil {
			s.ShovelsUnknown = "shovels and federation links: " + c.whyMissing(ctx, err)
		}
		s.Shovels = append(s.Shovels, read...)
	}
}

func (c *Client) shovels(ctx context.Context, on *model.Snapshot) (all []model.Shovel, err error) {
	var elements []shovelElement
	_, err = getList(ctx, c, c.inVHost("shovels"), nil, func(e *shovelElement) { elements = append(elements, *e) })
	if err != nil || len(elements) == 0 {
		return nil, err
	}

	// Only users with the tag policymaker may read these: otherwise each shovel counts as one that stays.
	defined, _ := ask(ctx, c, definitionColumns, func(hole *rabbithole.Client) ([]rabbithole.ShovelInfo, error) {
		return hole.ListShovelsIn(c.vhost)
	})
	for e := range model.Each(elements) {
		var d rabbithole.ShovelDefinition
		for one := range model.Each(defined) {
			if one.Vhost == e.VHost.value && one.Name == e.Name.value {
				d = one.Definition
				d.AckMode = cmp.Or(d.AckMode, "on-confirm")
			}
		}
		all = append(all, e.shovel(&d, on))
	}

	return all, nil
}

// shovel converts the element; d says where it leads while it does not run.
func (e *shovelElement) shovel(d *rabbithole.ShovelDefinition, on *model.Snapshot) model.Shovel {
	remains := string(e.Remaining.value)
	s := model.Shovel{
		Name: e.Name.value, VHost: e.VHost.value, State: e.State.value, Since: e.Since.value,
		Why:     withoutPasswords(e.Why.value),
		AckMode: d.AckMode,
		Ends:    cmp.Or(remains, `"unlimited"`) != `"unlimited"` || cmp.Or(d.SourceDeleteAfter, "never") != "never",
		From:    model.QueueRef{Name: cmp.Or(e.Queue.value, d.SourceQueue)},
		Bound: model.Address{
			Exchange:   cmp.Or(e.FromExchange.value, d.SourceExchange),
			RoutingKey: cmp.Or(e.FromKey.value, d.SourceExchangeKey),
		},
		To: model.Address{
			Exchange:   cmp.Or(e.DestExchange.value, d.DestinationExchange),
			RoutingKey: cmp.Or(e.DestKey.value, d.DestinationExchangeKey, e.DestQueue.value, d.DestinationQueue),
		},
	}

	s.KeepsKey = s.To.RoutingKey == ""
	s.From.VHost, s.FromHost = endOf(cmp.Or(e.From.value, append(d.SourceURI, "")[0]), on)
	s.ToVHost, s.ToHost = endOf(cmp.Or(e.To.value, append(d.DestinationURI, "")[0]), on)
	return s
}

// links reads the federation links that bring messages to this broker.
func (c *Client) links(ctx context.Context, on *model.Snapshot) (all []model.Shovel, err error) {
	links, err := ask(ctx, c, linkColumns, func(hole *rabbithole.Client) (rabbithole.FederationLinkMap, error) {
		return hole.ListFederationLinksIn(c.vhost)
	})
	if err != nil || len(links) == 0 {
		return nil, err
	}

	// These, too, are for policymakers.
	upstreams, _ := ask(ctx, c, upstreamColumns, func(hole *rabbithole.Client) ([]rabbithole.FederationUpstream, error) {
		return hole.ListFederationUpstreamsIn(c.vhost)
	})
	for _, link := range links {
		text := func(key string) string { text, _ := link[key].(string); return text }
		s := model.Shovel{
			Link: true, Name: text("upstream"), VHost: text("vhost"), ToVHost: text("vhost"),
			State: text("status"), Since: text("timestamp"), Why: withoutPasswords(text("error")),
			To: model.Address{RoutingKey: text("queue")},
		}

		s.From.VHost, s.FromHost = endOf(text("uri"), on)
		s.FromHost = cmp.Or(s.FromHost, "this broker")
		s.From.Name = text("upstream_queue")
		if text("type") == "exchange" {
			s.To, s.KeepsKey = model.Address{Exchange: text("exchange")}, true
			s.Bound.Exchange = text("upstream_exchange")
		}

		for u := range model.Each(upstreams) {
			if u.Vhost == s.VHost && u.Name == s.Name {
				s.AckMode = cmp.Or(u.Definition.AckMode, "on-confirm")
			}
		}

		all = append(all, s)
	}

	return all, nil
}

// countCarried finds the consumers of queues that are shovels.
func countCarried(s *model.Snapshot) {
	carried := map[model.QueueRef]int64{}
	for shovel := range model.Each(s.Shovels) {
		if shovel.State == "running" && shovel.FromHost == "" {
			carried[shovel.From]++
		}
	}

	for q := range model.Each(s.Queues) {
		q.Carried = carried[q.QueueRef]
	}
}

// findShovelQueues finds the queues of shovels that take from an exchange: each declares one, which RabbitMQ names, and
// binds it.
func findShovelQueues(s *model.Snapshot) {
	for shovel := range model.Each(s.Shovels) {
		for b := range model.Each(s.Bindings) {
			from := model.Address{Exchange: b.Source, RoutingKey: b.RoutingKey}
			own := b.VHost == shovel.From.VHost && strings.HasPrefix(b.Destination, "amq.gen-")
			if own && from == shovel.Bound && shovel.FromHost == "" {
				shovel.From.Name = b.Destination
			}
		}
	}
}

// endOf returns the vhost of a shovel's URI, and its host and port unless it names the broker on which the shovel runs:
// by no host, or by a loopback or a node's host and a port on which that broker listens.
func endOf(uri string, on *model.Snapshot) (vhost, host string) {
	u, err := url.Parse(uri)
	if err != nil || !strings.HasPrefix(u.Scheme, "amqp") {
		return "", "another broker"
	}

	if vhost = strings.TrimPrefix(u.Path, "/"); vhost == "" {
		vhost = "/"
	}

	port, _ := strconv.Atoi(cmp.Or(u.Port(), map[string]string{"amqp": "5672", "amqps": "5671"}[u.Scheme]))
	own := []string{"localhost", "127.0.0.1", "::1"}
	for n := range model.Each(on.Nodes) {
		_, name, _ := strings.Cut(n.Name, "@")
		own = append(own, name)
	}

	if u.Host == "" || slices.Contains(own, u.Hostname()) && slices.Contains(on.Overview.Ports, port) {
		return vhost, ""
	}

	return vhost, u.Host
}

var userInfo = regexp.MustCompile(`//[^/\s"]*@`)

// withoutPasswords removes users and passwords from the URIs in a text of the broker.
func withoutPasswords(text string) string {
	return strings.Trim(userInfo.ReplaceAllString(text, "//"), `"`)
}
