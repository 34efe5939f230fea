package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// completePatience is how long a node may take to show the scenarios complete. Ordinary is 2 to 4 s.
const completePatience = 30 * time.Second

// shownQueue is what the management API shows of a queue, as the dashboard reads it. The counts are statistics: a queue
// has none in its first second or two.
type shownQueue struct {
	Name      string
	Ready     *int `json:"messages_ready"`
	Consumers *int
}

// awaitComplete returns when the management API shows the scenarios complete, when ctx ends, or when it takes too long:
// then a person sees the rest of it come, which is better than no demo.
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

// shownQueues reads the queues of the vhost /, where scenarios run.
func shownQueues(ctx context.Context, api string) (map[string]shownQueue, error) {
	url := api + "/api/queues/%2F?columns=name,messages_ready,consumers"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var queues []shownQueue
	if err := json.NewDecoder(response.Body).Decode(&queues); err != nil {
		return nil, fmt.Errorf("the management API's queues: %s: %w", response.Status, err)
	}
	shown := make(map[string]shownQueue, len(queues))
	for _, queue := range queues {
		shown[queue.Name] = queue
	}
	return shown, nil
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
