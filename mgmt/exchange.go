package mgmt

import (
	"context"
	"net/url"

	"github.com/dlxtop/dlxtop/model"
)

// exchangeElement is one exchange of the list.
type exchangeElement struct {
	placed
	Type      field[string]      `json:"type"`
	Internal  field[bool]        `json:"internal"`
	Arguments field[model.Table] `json:"arguments"`
	Policy    field[string]      `json:"policy"`
	Delayed   field[int64]       `json:"messages_delayed"` // of an x-delayed-message exchange
	Stats     field[struct {
		PublishIn field[rate] `json:"publish_in_details"`
	}] `json:"message_stats"`
}

const exchangeColumns = "name,vhost,type,internal,arguments,policy,messages_delayed," +
	"message_stats.publish_in_details.rate"

// exchanges reads the exchange list. missing says what of it could not be read.
func (c *Client) exchanges(ctx context.Context) (exchanges []model.Exchange, missing []string, err error) {
	return getParts(ctx, c, c.inVHost("exchanges"), url.Values{"columns": {exchangeColumns}}, "an exchange",
		func(e *exchangeElement) (*model.Exchange, []string) { return e.exchange(c.vhost) })
}

// exchange converts the element; nil when it is unclear which exchange it is.
func (e *exchangeElement) exchange(vhost string) (x *model.Exchange, odd []string) {
	name := "exchange " + model.ExchangeName(e.Name.value)
	if odd = e.named("an exchange", name, vhost); odd != nil { // the default exchange's name is known: it is empty
		return nil, odd
	}
	x = &model.Exchange{
		ExchangeRef:   model.ExchangeRef{VHost: e.VHost.value, Name: e.Name.value},
		Type:          e.Type.value,
		Internal:      e.Internal.value,
		Arguments:     e.Arguments.value,
		Policy:        e.Policy.value,
		Delayed:       e.Delayed.opt(),
		PublishInRate: e.Stats.value.PublishIn.value.Rate.opt(),
	}

	return x, unread(name, map[string]bool{
		"type": !e.Type.known, "arguments": e.Arguments.odd, "policy": e.Policy.odd,
	})
}
