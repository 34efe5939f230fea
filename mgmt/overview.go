package mgmt

import (
	"context"
	"maps"
	"net/url"
	"slices"

	"github.com/dlxtop/dlxtop/model"
)

// overviewElement is the used part of the overview. A user with only the management tag does not get the node.
type overviewElement struct {
	Version   field[string] `json:"rabbitmq_version"`
	Node      field[string] `json:"node"`
	Cluster   field[string] `json:"cluster_name"`
	RatesMode field[string] `json:"rates_mode"`
	StatsOff  field[bool]   `json:"disable_stats"`
}

const overviewColumns = "rabbitmq_version,node,cluster_name,rates_mode,disable_stats"

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
	skew, within := c.clock.ahead()

	return model.Overview{
		Node:        e.Node.value,
		ClusterName: e.Cluster.value,
		Version:     model.ParseVersion(e.Version.value),
		User:        c.user,
		RatesMode:   e.RatesMode.value,
		StatsOff:    e.StatsOff.value,
		ClockSkew:   skew,
		ClockWithin: within,
	}, nil
}

// ClusterName returns the one name for a cluster by which one of its nodes calls it, as far as its nodes are known.
func (c *Client) ClusterName(said string) string {
	if members := c.members.Load(); members != nil {
		return model.ClusterName(said, *members)
	}
	return said
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
	members := slices.Sorted(maps.Keys(names))
	c.members.Store(&members)
	o.ClusterName = c.ClusterName(o.ClusterName)
}

// sameCluster requires all answers to be from the cluster of the first one: an address may lead to another broker
// later.
func (c *Client) sameCluster(name string) error {
	if name == "" || c.cluster.CompareAndSwap(nil, &name) || c.ClusterName(name) == c.ClusterName(*c.cluster.Load()) {
		return nil
	}
	return model.LeadsElsewhere.With(model.ConnectValues{At: c.hosts.Current(), Name: name, Detail: *c.cluster.Load()})
}
