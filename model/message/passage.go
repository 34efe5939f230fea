package message

import (
	"cmp"
	"iter"
	"net/url"
	"strings"

	"github.com/dlxtop/dlxtop/model"
)

// Passage is how a shovel or a federation brought a message from another vhost, or from another broker. x-death has no
// vhost: what it names may be there.
type Passage struct {
	By       string // "the shovel NAME", "federation"
	VHost    string
	Broker   string // "" for the same broker, as far as known
	Queue    string // from which it was taken; "" for Exchange
	Exchange string
	Into     model.Address // where it was published here; only if Known
	Known    bool
}

// Passages returns the passages from another vhost or broker that forward headers show, newest first.
func (m *Message) Passages() (found []Passage) {
	for table := range tablesIn(m.Headers["x-shovelled"]) {
		if p, ok := shovelled(table); ok {
			found = append(found, p)
		}
	}

	for table := range tablesIn(m.Headers["x-received-from"]) {
		if p, ok := receivedFrom(table); ok {
			found = append(found, p)
		}
	}

	return found
}

// tablesIn iterates over the tables of a list: at most 100, more than any way of shovels has.
func tablesIn(v any) iter.Seq[model.Table] {
	return func(yield func(model.Table) bool) {
		list, _ := v.([]any)
		for _, e := range list[:min(len(list), 100)] {
			if table, ok := model.AsTable(e); ok && !yield(table) {
				return
			}
		}
	}
}

// shovelled reads an entry of x-shovelled: addresses, from which RabbitMQ removes passwords, and the names of the
// shovel's queues or exchanges.
func shovelled(table model.Table) (p Passage, ok bool) {
	from, _ := table.Text("src-uri")
	to, _ := table.Text("dest-uri")
	source, destination := siteOf(from), siteOf(to)
	if source == destination {
		return p, false
	}

	name, _ := table.Text("shovel-name")
	p.By = strings.TrimSpace("the shovel " + WholeRunes(name, longestName))
	p.VHost = source.vhost
	if source.host != destination.host {
		p.Broker = cmp.Or(source.host, "another broker")
	}

	p.Queue, _ = table.Text("src-queue")
	p.Exchange, _ = table.Text("src-exchange")

	queue, named := table.Text("dest-queue")
	p.Into = model.Address{RoutingKey: queue}
	p.Known = named
	if exchange, named := table.Text("dest-exchange"); named {
		key, keyed := table.Text("dest-exchange-key")
		p.Into = model.Address{Exchange: exchange, RoutingKey: key}
		p.Known = keyed
	}

	return p, true
}

// receivedFrom reads an entry of x-received-from, which federation writes.
func receivedFrom(table model.Table) (p Passage, ok bool) {
	uri, _ := table.Text("uri")
	site := siteOf(uri)
	p = Passage{By: "federation", VHost: site.vhost, Broker: site.host}
	if vhost, named := table.Text("vhost"); named && p.VHost == "/" {
		p.VHost = vhost
	}

	p.Queue, _ = table.Text("queue")
	p.Exchange, _ = table.Text("exchange")
	return p, uri != ""
}

// site is a vhost of a broker; the host is "" for the broker itself.
type site struct{ host, vhost string }

func siteOf(address string) site {
	u, err := url.Parse(WholeRunes(address, 1000))
	if err != nil {
		return site{vhost: "/"}
	}
	vhost, err := url.PathUnescape(strings.TrimPrefix(u.EscapedPath(), "/"))
	if err != nil || u.Path == "" {
		vhost = "/"
	}

	return site{u.Host, vhost}
}
