package mgmt

import (
	"context"
	"net/http"
	"net/url"

	rabbithole "github.com/michaelklishin/rabbit-hole/v2"
)

// columned sends the requests of rabbit-hole, with what its own lack: a context, and the columns that are read. A field
// that nothing reads cannot spoil a list then, whatever a version writes into it: rabbit-hole's types are strict.
type columned struct {
	bound
	ctx     context.Context
	columns string
}

func (c columned) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(c.ctx)
	req.Close = false // rabbit-hole would end every connection
	req.URL.RawQuery = url.Values{"columns": {c.columns}}.Encode()
	return c.bound.RoundTrip(req)
}

// ask reads an answer by a method of rabbit-hole, under the client's timeout. A list "in" the vhost "" is that of all
// which the user may see: the path ends in a slash then, which RabbitMQ ignores (3.10.8, 4.0.5, 4.3.6).
func ask[T any](
	ctx context.Context, c *Client, columns string, call func(*rabbithole.Client) (T, error),
) (answer T, err error) {
	err = c.request(ctx, func(ctx context.Context) error {
		transport := columned{bound{c.transport, &c.clock, c.most.object}, ctx, columns}
		hole, err := rabbithole.NewTLSClient(c.endpoint, c.user, c.password, transport)
		if err != nil {
			return err
		}

		answer, err = call(hole)
		return asOtherJSON(err)
	})

	return answer, err
}
