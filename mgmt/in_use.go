package mgmt

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/upgrade"
)

// InUse reads what an upgrade has to know besides a topology: no poll asks for it. Without the tag monitoring a user
// sees only its own connections (3.10.8, 4.0.5, 4.3.6). rabbit-hole has neither deprecated features nor what a channel
// may prefetch for all its consumers.
func (c *Client) InUse(ctx context.Context) (use upgrade.Use) {
	read := func(path, columns string, each func(model.Table)) {
		query := url.Values{"columns": {columns}}
		_, err := getList(ctx, c, path, query, func(e *field[model.Table]) { each(e.value) })
		answer, refused := errors.AsType[*answerError](err)
		if err != nil && (!refused || answer.Status != http.StatusNotFound) { // there are no deprecated features before 3.13
			use.Missing = append(use.Missing, path+": "+c.whyMissing(ctx, err))
		}
	}

	client := func(e model.Table) {
		if c.vhost == "" || e["vhost"] == c.vhost {
			use.Clients = append(use.Clients, clientOf(e))
		}
	}

	read("feature-flags", "name,state,stability", func(e model.Table) {
		if e["state"] == "disabled" && e["stability"] == "stable" {
			use.FlagsOff = append(use.FlagsOff, textOf(e, "name"))
		}
	})
	read("deprecated-features/used", "name", func(e model.Table) {
		use.Deprecated = append(use.Deprecated, textOf(e, "name"))
	})
	read("connections", "name,vhost,user,user_provided_name,protocol,frame_max,client_properties", client)
	silent := false
	read("channels", "name,vhost,user,global_prefetch_count", func(e model.Table) {
		silent = silent || e["global_prefetch_count"] == nil
		client(e)
	})
	if silent { // 4.0 and later, where the log has a warning
		use.Missing = append(use.Missing, "which channels use basic.qos with global: RabbitMQ does not say it")
	}

	return use
}

// clientOf returns a connection or a channel.
func clientOf(e model.Table) upgrade.Client {
	by, _ := e["client_properties"].(model.Table)
	library := strings.TrimSpace(textOf(by, "product") + " " + textOf(by, "version"))
	frameMax, _ := e.Integer("frame_max")
	prefetch, _ := e.Integer("global_prefetch_count")
	return upgrade.Client{
		Name:           cmp.Or(textOf(e, "user_provided_name"), library, textOf(e, "name")) + " of user " + textOf(e, "user"),
		Protocol:       textOf(e, "protocol"),
		FrameMax:       frameMax,
		GlobalPrefetch: prefetch,
	}
}

func textOf(e model.Table, key string) string {
	text, _ := e.Text(key)
	return text
}
