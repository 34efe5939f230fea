package mgmt

import (
	"context"
	"net/url"
)

// Connections returns the client-provided names of the connections that the user may see: without the tag monitoring
// only the user's own.
func (c *Client) Connections(ctx context.Context) (names []string, err error) {
	type connection struct {
		Name field[string] `json:"user_provided_name"`
	}
	_, err = getList(ctx, c, "connections", url.Values{"columns": {"user_provided_name"}}, func(e *connection) {
		if e.Name.known {
			names = append(names, e.Name.value)
		}
	})

	return names, err
}
