package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// handshake opens and closes an AMQP connection.
func handshake(ctx context.Context, url string) error {
	conn, err := dial(ctx, url, "dlxtop demo: ready?")
	if err != nil {
		return err
	}
	return conn.Close()
}

// dial opens a connection that gives up when ctx ends, and bears a name that the broker shows.
func dial(ctx context.Context, url, name string) (*amqp.Connection, error) {
	config := amqp.Config{Properties: amqp.NewConnectionProperties(), Heartbeat: 10 * time.Second, Locale: "en_US"}
	config.Properties.SetClientConnectionName(name)
	config.Dial = func(network, address string) (net.Conn, error) {
		dialer := net.Dialer{Timeout: 5 * time.Second}
		conn, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		// The client clears this deadline when the connection is open.
		return conn, conn.SetDeadline(time.Now().Add(5 * time.Second))
	}
	return amqp.DialConfig(url, config)
}

// client asks the management API of a node. It follows no redirect: what it sends has the node's password in it.
var client = &http.Client{
	Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// overview reads the broker's version from the management API, which proves that it answers and lets guest in.
func overview(ctx context.Context, api string) (version string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, api+"/api/overview", nil)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the management API answers %s", response.Status)
	}
	var answer struct {
		Version string `json:"rabbitmq_version"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return "", fmt.Errorf("the management API's overview: %w", err)
	}
	return answer.Version, nil
}
