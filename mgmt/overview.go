package mgmt

import (
	"context"
	"net/url"

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

// sameCluster requires all answers to be from the cluster of the first one: an address may lead to another broker
// later.
func (c *Client) sameCluster(name string) error {
	if name == "" || c.cluster.CompareAndSwap(nil, &name) || *c.cluster.Load() == name {
		return nil
	}
	return model.LeadsElsewhere.With(model.ConnectValues{At: c.address, Name: name, Detail: *c.cluster.Load()})
}
