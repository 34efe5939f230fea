package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// giveUp is an error that makes until stop trying.
type giveUp struct{ error }

// until tries repeatedly, with pauses, until there is no error, a giveUp, or ctx ends; then the error contains ctx's
// and the last attempt's.
func until(ctx context.Context, pause time.Duration, try func(context.Context) error) error {
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		if final, ok := errors.AsType[giveUp](err); ok {
			return final.error
		}
		if !wait(ctx, pause) {
			return fmt.Errorf("%w (last: %w)", context.Cause(ctx), err)
		}
	}
}

func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func handshake(ctx context.Context, url string) error {
	conn, err := dial(ctx, url, "dlxtop demo: ready?")
	if err != nil {
		return err
	}
	return conn.Close()
}

// answersWithin bounds a connection's start and a request, on a machine that is busy with something else.
const answersWithin = 30 * time.Second

// dial opens a connection that gives up when ctx ends, with a name that the broker shows.
func dial(ctx context.Context, url, name string) (*amqp.Connection, error) {
	config := amqp.Config{Properties: amqp.NewConnectionProperties(), Heartbeat: 10 * time.Second, Locale: "en_US"}
	config.Properties.SetClientConnectionName(name)
	config.Dial = func(network, address string) (net.Conn, error) {
		dialer := net.Dialer{Timeout: answersWithin}
		conn, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		// The client clears this deadline when the connection is open.
		return conn, conn.SetDeadline(time.Now().Add(answersWithin))
	}

	return amqp.DialConfig(url, config)
}

// client asks the management API of a node. It follows no redirects: its requests contain the node's password.
var client = &http.Client{
	Timeout: answersWithin, Transport: &http.Transport{DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// get reads an answer of the management API.
func get(ctx context.Context, url string, answer any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the management API answers %s", response.Status)
	}
	if err := json.NewDecoder(response.Body).Decode(answer); err != nil {
		return fmt.Errorf("the management API's answer: %w", err)
	}

	return nil
}

// overview reads the broker's version from the management API, which proves that the API answers and lets guest in.
func overview(ctx context.Context, api string) (version string, err error) {
	var answer struct {
		Version string `json:"rabbitmq_version"`
	}
	err = get(ctx, api+"/api/overview", &answer)
	return answer.Version, err
}

// completePatience is how long a node may take to show the scenarios completely. Usually it takes 2 to 4 s.
const completePatience = 30 * time.Second

// shownQueue is what the management API shows of a queue, as the dashboard reads it. The counts are statistics: in its
// first second or two a queue has none.
type shownQueue struct {
	Name      string
	Ready     *int `json:"messages_ready"`
	Consumers *int
}

// awaitComplete returns when the management API shows the scenarios completely, when ctx ends, or when it takes too
// long: then the rest appears while the user watches, which is better than no demo.
func awaitComplete(ctx context.Context, api string, scenarios []Scenario) {
	ctx, cancel := context.WithTimeout(ctx, completePatience)
	defer cancel()
	_ = until(ctx, 200*time.Millisecond, func(ctx context.Context) error {
		shown, err := shownQueues(ctx, api)
		if err != nil {
			return err
		}
		for _, scenario := range scenarios {
			if err := scenario.complete(shown); err != nil {
				return err
			}
		}

		return nil
	})
}

func shownQueues(ctx context.Context, api string) (map[string]shownQueue, error) {
	var queues []shownQueue
	err := get(ctx, api+"/api/queues/%2F?columns=name,messages_ready,consumers", &queues) // the vhost of the scenarios
	shown := make(map[string]shownQueue, len(queues))
	for _, queue := range queues {
		shown[queue.Name] = queue
	}
	return shown, err
}

// complete returns an error that names what of the scenario is not shown yet.
func (s Scenario) complete(shown map[string]shownQueue) error {
	for _, name := range s.Queues() {
		if queue, ok := shown[name]; !ok || queue.Ready == nil || queue.Consumers == nil {
			return fmt.Errorf("no counts of %s", name)
		}
	}

	for _, worker := range s.workers {
		if *shown[worker.queue].Consumers == 0 {
			return fmt.Errorf("%s has no consumers", worker.queue)
		}
	}

	for name, least := range s.filled {
		if ready := *shown[name].Ready; ready < least {
			return fmt.Errorf("%s has %d messages, not yet %d", name, ready, least)
		}
	}

	return nil
}
