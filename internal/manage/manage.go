// Package manage is how tests make vhosts, users and policies: one request to the management API, which is sent again
// where a busy node hangs up.
package manage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"time"
)

// Send sends a request to url, which may hold credentials, and returns the answer's body. An answer that is none of
// success is an error with the broker's words. A request whose connection ends before the answer begins is sent again
// for up to ten seconds, as a busy node closes connections that it has just accepted (3.10.8, 4.3.6), but a POST is
// not: it would be done twice. What a DELETE no longer finds then was deleted by the first one.
func Send(ctx context.Context, method, url, body string) ([]byte, error) {
	const pause, limit = 100 * time.Millisecond, 10 * time.Second
	for began, again := time.Now(), false; ; again = true {
		answer, status, err := send(ctx, method, url, body)
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

// send sends a request once, on a connection of its own: it leaves no goroutine, and no idle connection that the broker
// closes just when it is used.
func send(ctx context.Context, method, url, body string) (answer []byte, status int, err error) {
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	request.Close = true
	request.Header.Set("Content-Type", "application/json") // limits want it (3.10.8, 4.0.5, 4.3.6)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, 0, err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	return answer, response.StatusCode, err
}

// hungUp reports whether the connection ended before the answer did.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
