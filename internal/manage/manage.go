// Package manage lets tests create vhosts, users and policies: one request to the management API each, sent again when
// a busy node hangs up.
package manage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/must"
)

// Do sends a request to a node's management API and returns the body of the answer; api is its URL, and the path begins
// after /api/. The test ends when the request is refused.
func Do(t testing.TB, api, method, path, body string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), must.Patience)
	defer cancel()
	answer, err := Send(ctx, method, api+"/api/"+path, body)
	must.That(t, err == nil, "%s: %v", path, err)
	return answer
}

// VHost creates a vhost that lives as long as the test, and returns its name.
func VHost(t testing.TB, api, name string) string {
	t.Helper()
	Do(t, api, http.MethodPut, "vhosts/"+url.PathEscape(name), "{}")
	t.Cleanup(func() { Do(t, api, http.MethodDelete, "vhosts/"+url.PathEscape(name), "") })
	return name
}

// Password is the password of all users that tests create: no output may show it.
const Password = "s3cr3t"

// User creates a user with all permissions on some vhosts, who lives as long as the test, and returns the name.
func User(t testing.TB, api, name, tags string, vhosts ...string) string {
	t.Helper()
	Do(t, api, http.MethodPut, "users/"+name, fmt.Sprintf(`{"password":%q,"tags":%q}`, Password, tags))
	t.Cleanup(func() { Do(t, api, http.MethodDelete, "users/"+name, "") })
	for _, vhost := range vhosts {
		path := "permissions/" + url.PathEscape(vhost) + "/" + name
		Do(t, api, http.MethodPut, path, `{"configure":".*","write":".*","read":".*"}`)
	}
	return name
}

// Send sends a request to an address, which may contain credentials, and returns the body of the answer. A status other
// than success is an error with the broker's words. A busy node may close a connection that it has just accepted
// (3.10.8, 4.3.6), so a request without an answer is sent again for up to ten seconds, except a POST, which might be
// executed twice. When a second DELETE finds nothing, the first one has succeeded.
func Send(ctx context.Context, method, address, body string) ([]byte, error) {
	const pause, limit = 100 * time.Millisecond, 10 * time.Second
	for began, again := time.Now(), false; ; again = true {
		answer, status, err := send(ctx, method, address, body)
		switch {
		case hungUp(err) && method != http.MethodPost && time.Since(began) < limit:
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(pause):
			}
			continue
		case err != nil:
			return nil, err
		case again && method == http.MethodDelete && status == http.StatusNotFound, status < http.StatusMultipleChoices:
			return answer, nil
		}
		return nil, fmt.Errorf("%s: %d %s: %s", method, status, http.StatusText(status), answer)
	}
}

// send sends a request once, on its own connection: so it leaves no goroutine, and uses no idle connection that the
// broker may be closing.
func send(ctx context.Context, method, address, body string) (answer []byte, status int, err error) {
	request, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	request.Close = true
	request.Header.Set("Content-Type", "application/json") // required for limits (3.10.8, 4.0.5, 4.3.6)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, 0, err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	return answer, response.StatusCode, err
}

// hungUp reports whether the connection ended before the answer.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
