package mgmt

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	rabbithole "github.com/michaelklishin/rabbit-hole/v2"

	"github.com/dlxtop/dlxtop/model"
)

// shovelElement is the status of one shovel: rabbit-hole's has neither its ends nor what remains. RabbitMQ leaves
// passwords out of its URIs.
type shovelElement struct {
	placed
	State        field[string]          `json:"state"`
	From         field[string]          `json:"src_uri"`
	To           field[string]          `json:"dest_uri"`
	Queue        field[string]          `json:"src_queue"`
	FromExchange field[string]          `json:"src_exchange"`
	FromKey      field[string]          `json:"src_exchange_key"`
	DestQueue    field[string]          `json:"dest_queue"`
	DestExchange field[string]          `json:"dest_exchange"`
	DestKey      field[string]          `json:"dest_exchange_key"`
	Remaining    field[json.RawMessage] `json:"remaining"` // from 4.3: "unlimited", or the messages until it ends
}

// definitionColumns are when a shovel ends, and what every definition has: without any, it is written as a list.
const definitionColumns = "name,vhost,value.src-delete-after,value.src-uri,value.src-protocol"

// shovels returns the running shovels that stay, from a queue of this broker to this broker; nil where they cannot be
// read. Without the plugin rabbitmq_shovel_management (404), and for users without the tag monitoring (401), they are
// requested once.
func (c *Client) shovels(ctx context.Context) (standing []model.Shovel) {
	if c.noShovels.Load() {
		return nil
	}
	ends := map[string]bool{}
	_, err := getList(ctx, c, c.inVHost("shovels"), nil, func(e *shovelElement) {
		if s, ok := e.shovel(); ok {
			standing = append(standing, s)
		}
	})

	if answer, ok := errors.AsType[*answerError](err); ok && answer.Status != http.StatusServiceUnavailable {
		c.noShovels.Store(true)
	}
	if err != nil || len(standing) == 0 {
		return nil
	}

	// A user without the tag policymaker cannot read these: then each shovel counts as one that stays.
	defined, _ := ask(ctx, c, definitionColumns, func(hole *rabbithole.Client) ([]rabbithole.ShovelInfo, error) {
		return hole.ListShovelsIn(c.vhost)
	})
	for _, s := range defined {
		after := s.Definition.SourceDeleteAfter
		ends[s.Vhost+"\x00"+s.Name] = after != "" && after != "never"
	}

	kept := standing[:0]
	for _, s := range standing {
		if !ends[s.VHost+"\x00"+s.Name] {
			kept = append(kept, s)
		}
	}

	return kept
}

// shovel converts the element; false when it is not running, will end, or leads from or to another broker.
func (e *shovelElement) shovel() (model.Shovel, bool) {
	from, isHere := vhostHere(e.From.value)
	to, leadsHere := vhostHere(e.To.value)
	ends := e.Remaining.known && string(e.Remaining.value) != `"unlimited"`
	if e.State.value != "running" || e.Queue.value+e.FromExchange.value == "" || !isHere || !leadsHere || ends {
		return model.Shovel{}, false
	}
	s := model.Shovel{
		Name:     e.Name.value,
		VHost:    e.VHost.value,
		From:     model.QueueRef{VHost: from, Name: e.Queue.value},
		Bound:    model.Address{Exchange: e.FromExchange.value, RoutingKey: e.FromKey.value},
		ToVHost:  to,
		To:       model.Address{Exchange: e.DestExchange.value, RoutingKey: e.DestKey.value},
		KeepsKey: !e.DestKey.known,
	}

	if e.DestQueue.value != "" {
		s.To = model.Address{RoutingKey: e.DestQueue.value}
		s.KeepsKey = false
	}

	return s, true
}

// findShovelQueues finds the queues of shovels that take from an exchange: each declares one, which RabbitMQ names, and
// binds it.
func findShovelQueues(s *model.Snapshot) {
	for shovel := range model.Each(s.Shovels) {
		for b := range model.Each(s.Bindings) {
			from := model.Address{Exchange: b.Source, RoutingKey: b.RoutingKey}
			own := b.VHost == shovel.From.VHost && strings.HasPrefix(b.Destination, "amq.gen-")
			if own && from == shovel.Bound {
				shovel.From.Name = b.Destination
			}
		}
	}
}

// vhostHere returns the vhost of a shovel's URI, if it names the broker on which the shovel runs: by no host, or by its
// own loopback.
func vhostHere(uri string) (vhost string, here bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "amqp" && u.Scheme != "amqps" {
		return "", false
	}
	switch u.Hostname() {
	case "", "localhost", "127.0.0.1", "::1":
	default:
		return "", false
	}

	if vhost = strings.TrimPrefix(u.Path, "/"); vhost == "" {
		vhost = "/"
	}

	return vhost, true
}
