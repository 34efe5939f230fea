package broker_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// api sends a request to the management API.
func api(t testing.TB, method, path, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, node.API()+path,
		strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json") // limits want it (3.10.8, 4.0.5, 4.3.6)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode >= 300 {
		t.Fatalf("%s %s: %s", method, path, response.Status)
	}
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
	u, err := url.Parse(node.AMQP())
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(name, "secret")
	return u.String()
}
