package broker_test

import (
	"context"
	"net/http"
	"net/url"
	"testing"

	"github.com/dlxtop/dlxtop/internal/manage"
	"github.com/dlxtop/dlxtop/internal/must"
)

// api sends a request to the management API.
func api(t testing.TB, method, path, body string) {
	t.Helper()
	_, err := manage.Send(context.WithoutCancel(t.Context()), method, node.API()+path, body)
	must.That(t, err == nil, "%s: %v", path, err)
}

// otherUser makes the user "other" with every right on "/", and returns the URL to connect as it.
func otherUser(t testing.TB) string {
	t.Helper()
	return user(t, "other", `{"configure":".*","write":".*","read":".*"}`)
}

// user makes a user with rights on "/", none if rights is empty, and returns the URL to connect as it.
func user(t testing.TB, name, rights string) string {
	t.Helper()
	api(t, http.MethodPut, "/api/users/"+name, `{"password":"secret","tags":""}`)
	if rights != "" {
		api(t, http.MethodPut, "/api/permissions/%2F/"+name, rights)
	}
	u := must.Get(url.Parse(node.AMQP()))(t)
	u.User = url.UserPassword(name, "secret")
	return u.String()
}
