package mgmt

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"dlxtop/model"
)

// overviewElement is the part of the overview that is used. A user with only the management tag is not told the node.
type overviewElement struct {
	Version   field[string] `json:"rabbitmq_version"`
	Erlang    field[string] `json:"erlang_version"`
	Node      field[string] `json:"node"`
	Cluster   field[string] `json:"cluster_name"`
	RatesMode field[string] `json:"rates_mode"`
	StatsOff  field[bool]   `json:"disable_stats"`
}

const overviewColumns = "rabbitmq_version,erlang_version,node,cluster_name,rates_mode,disable_stats"

// overview asks the broker what it is. User and tags are another request: whoAmI.
func (c *Client) overview(ctx context.Context) (model.Overview, error) {
	var e overviewElement
	var skew model.Opt[time.Duration]
	err := c.request(ctx, func(ctx context.Context) error {
		sent := time.Now()
		resp, err := c.get(ctx, "overview", url.Values{"columns": {overviewColumns}})
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		skew = clockSkew(resp.Header.Get("Date"), sent, time.Now())
		var object field[overviewElement]
		if err := json.NewDecoder(resp.Body).Decode(&object); err != nil {
			return err
		}
		if e = object.value; e.Version.value == "" {
			return errOtherJSON
		}
		return nil
	})
	if err != nil {
		return model.Overview{}, err
	}
	return model.Overview{
		Node:        e.Node.value,
		ClusterName: e.Cluster.value,
		Version:     model.ParseVersion(e.Version.value),
		Erlang:      e.Erlang.value,
		User:        c.user,
		RatesMode:   e.RatesMode.value,
		StatsOff:    e.StatsOff.value,
		ClockSkew:   skew,
	}, nil
}

// clockSkew is the broker's clock minus this machine's. The header has whole seconds, cut off, and the server renews it once
// a second: what is not beyond that is no skew.
func clockSkew(header string, sent, received time.Time) model.Opt[time.Duration] {
	date, err := http.ParseTime(header)
	if err != nil {
		return model.Unknown[time.Duration]()
	}
	const half = 500 * time.Millisecond // the middle of the header's second
	between := sent.Add(received.Sub(sent) / 2)
	skew := date.Add(half).Sub(between).Round(time.Second)
	if skew.Abs() <= time.Second {
		skew = 0
	}
	return model.Some(skew)
}
