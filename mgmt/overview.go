package mgmt

import (
	"context"
	"maps"
	"net/url"
	"slices"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/hosts"
	"github.com/dlxtop/dlxtop/model/trouble"
)

// overviewElement is the used part of the overview. A user with only the management tag does not get the node.
type overviewElement struct {
	Version   field[string]           `json:"rabbitmq_version"`
	Node      field[string]           `json:"node"`
	Cluster   field[string]           `json:"cluster_name"`
	RatesMode field[string]           `json:"rates_mode"`
	StatsOff  field[bool]             `json:"disable_stats"`
	Listeners field[[]hosts.Listener] `json:"listeners"`
}

const overviewColumns = "rabbitmq_version,node,cluster_name,rates_mode,disable_stats," +
	"listeners.node,listeners.protocol,listeners.port"

// overview reads the broker's overview. User and tags are another request: whoAmI.
func (c *Client) overview(ctx context.Context) (model.Overview, error) {
	var object field[overviewElement]
	if err := c.getObject(ctx, "overview", url.Values{"columns": {overviewColumns}}, &object); err != nil {
		return model.Overview{}, err
	}
	e := object.value
	if e.Version.value == "" {
		return model.Overview{}, errOtherJSON
	}
	if err := c.sameCluster(e.Cluster.value); err != nil {
		return model.Overview{}, err
	}
	c.listeners.Store(&e.Listeners.value)
	skew, within := c.clock.ahead()
	ports := model.Mapped(e.Listeners.value, func(l *hosts.Listener) int { return l.Port })

	return model.Overview{
		Node:        e.Node.value,
		ClusterName: e.Cluster.value,
		Version:     model.ParseVersion(e.Version.value),
		User:        c.user,
		RatesMode:   e.RatesMode.value,
		StatsOff:    e.StatsOff.value,
		ClockSkew:   skew,
		ClockWithin: within,
		Ports:       ports,
	}, nil
}

// learnMembers notes the nodes of the cluster, and names it.
func (c *Client) learnMembers(o *model.Overview, nodes []model.Node, queues []model.Queue) {
	names := map[string]bool{}
	for n := range model.Each(nodes) {
		names[n.Name] = true
	}
	for q := range model.Each(queues) { // without the tag monitoring, nodes are known by their queues
		names[q.Node] = true
		for _, member := range q.Members {
			names[member] = true
		}
	}

	delete(names, "")
	c.members.Learn(slices.Sorted(maps.Keys(names)), *c.listeners.Load())
	o.ClusterName = c.members.Name(o.ClusterName)
}

// sameCluster requires all answers to be from the cluster of the first one: an address may lead to another broker
// later.
func (c *Client) sameCluster(name string) error {
	at := c.hosts.Current()
	if name == "" || c.cluster.CompareAndSwap(nil, &name) || c.members.Name(name) == c.members.Name(*c.cluster.Load()) {
		c.verified.Store(&at)
		return nil
	}

	return trouble.LeadsElsewhere.With(trouble.Values{At: at, Name: name, Detail: *c.cluster.Load()})
}
