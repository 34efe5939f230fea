package mgmt

import (
	"context"
	"net/url"

	"github.com/dlxtop/dlxtop/model"
)

// nodeElement is one node of the list. A node that is down only has a name; rabbit-hole's type would have 0 for what is
// not known.
type nodeElement struct {
	Name       field[string]   `json:"name"`
	Running    field[bool]     `json:"running"`
	MemAlarm   field[bool]     `json:"mem_alarm"`
	DiskAlarm  field[bool]     `json:"disk_free_alarm"`
	MemUsed    field[int64]    `json:"mem_used"`
	MemLimit   field[int64]    `json:"mem_limit"`
	DiskFree   field[int64]    `json:"disk_free"`
	DiskLimit  field[int64]    `json:"disk_free_limit"`
	Partitions field[[]string] `json:"partitions"`
	Drained    field[bool]     `json:"being_drained"` // 4.0 and later
	Plugins    field[[]string] `json:"enabled_plugins"`
}

const nodeColumns = "name,running,mem_alarm,disk_free_alarm,mem_used,mem_limit,disk_free,disk_free_limit,partitions," +
	"being_drained,enabled_plugins"

// nodes reads the nodes of the cluster; nil when they cannot be read. A user needs the tag monitoring for it (401
// otherwise, 3.10.8 to 4.3.6): most users lack it, so that is not an error of the poll.
func (c *Client) nodes(ctx context.Context) []model.Node {
	nodes := []model.Node{}
	_, err := getList(ctx, c, "nodes", url.Values{"columns": {nodeColumns}}, func(e *nodeElement) {
		if !e.Name.known || !e.Running.known {
			return
		}
		nodes = append(nodes, model.Node{
			Name:       e.Name.value,
			Running:    e.Running.value,
			MemAlarm:   e.MemAlarm.value,
			DiskAlarm:  e.DiskAlarm.value,
			MemUsed:    e.MemUsed.opt(),
			MemLimit:   e.MemLimit.opt(),
			DiskFree:   e.DiskFree.opt(),
			DiskLimit:  e.DiskLimit.opt(),
			Partitions: e.Partitions.value,
			Drained:    e.Drained.value,
			Plugins:    e.Plugins.value,
		})
	})
	if err != nil {
		return nil
	}

	return nodes
}
