package ui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/message"
)

// n and N go from match to match, round the end, and say which one it is.
func TestStepThroughMatches(t *testing.T) {
	o, _, _ := failedOptions(47)
	terms := onQueue(t, o, failedQueue, 120, 36)
	terms.await("47 messages")
	terms.press("/", "valueerror")
	terms.await("match 1 of 23 in 47")
	terms.press(keyEnter, "n")
	terms.await("match 2 of 23 in 47", "user3@")
	terms.press("n")
	terms.await("match 3 of 23 in 47", "user5@")
	terms.press("N", "N", "N")
	terms.await("match 23 of 23 in 47")
	terms.press("n")
	terms.await("match 1 of 23 in 47", "user1@")
	terms.press(keyEnter)
	terms.await("message 1 of 23")
	terms.press("n")
	terms.await("message 2 of 23", "user3@")
}

// In a body, each line with what is looked for is a step, then the next message; back from its end.
func TestStepThroughABody(t *testing.T) {
	c := newClock()
	b := newRecordedBroker(c)
	for _, mark := range []string{"first", "second"} {
		var body strings.Builder
		for i := range 200 {
			fmt.Fprintf(&body, "line %d\n", i)
			if i == 100 || i == 150 {
				fmt.Fprintf(&body, "the %s Needle %d\n", mark, i)
			}
		}
		b.put(failedQueue, message.Message{
			RoutingKey: "k", Body: []byte(body.String()), Properties: message.Properties{ContentType: "text/plain"},
		})
	}
	o := Options{Source: &recorded{snapshot: busyBroker()}, Broker: b, Now: c.now}
	terms := onQueue(t, o, failedQueue, 80, 24)
	terms.await("2 messages")
	terms.press("/", "needle", keyEnter, keyEnter)
	terms.await("message 1 of 2")
	terms.press(keyTab, keyTab)
	terms.await("▸ Body", "the first Needle 100", "line 100")
	for _, step := range []struct{ key, seen string }{
		{"n", "the first Needle 150"},
		{"n", "the second Needle 100"},
		{"n", "the second Needle 150"},
		{"n", "the first Needle 100"},
		{"N", "the second Needle 150"},
		{"N", "the second Needle 100"},
		{"N", "the first Needle 150"},
	} {
		terms.press(step.key)
		terms.await("▸ Body", step.seen)
	}
}

// The line of a filter completes names, says what is wrong below it, and keeps what was typed.
func TestFilterCompletes(t *testing.T) {
	o, _, _ := failedOptions(47)
	o.Filters = filter.Saved{"smtp": `failure contains "smtp"`, "often": "deaths > 3"}
	terms := onQueue(t, o, failedQueue, 120, 36)
	terms.await("47 messages")
	terms.press("/")
	terms.await("text in any case, or = and an expression: =deaths > 3, or a saved one: =@often")
	terms.press("=")
	terms.await("tab completes  body  json  headers  exchange")
	terms.press("fail")
	terms.await("tab completes  failure  failure_kind  failure_message")
	terms.press(keyTab, keyTab)
	terms.await("/ =failure_kind")
	terms.press(keyBackTab, ` contains "x" and json.em`)
	terms.await(`/ =failure contains "x" and json.em`, "tab completes  json.email")
	terms.press(keyTab, " ==")
	terms.await(`/ =failure contains "x" and json.email ==`, "! the filter cannot be read at character", "showing 0")
	terms.press(` "user3@example.com" or headers["x-er`)
	terms.await(`tab completes  headers["x-error"]`)
	terms.press(keyTab, ` == 1 or json.email == "user3@example.com"`)
	terms.await("match 1 of 1 in 47", "user3@")
	terms.press(keyEsc, "/", "=@s")
	terms.await("tab completes  @smtp")
	terms.press(keyTab)
	terms.await("/ =@smtp", "match 4 of 24 in 47")
	terms.press("x")
	terms.await("! there is no saved filter @smtpx: [filters] in the configuration file has @often, @smtp")
	terms.press(keyEnter, "D")
	terms.await("the filter is not complete")
}

func TestFilterLineGolden(t *testing.T) {
	for _, size := range []struct{ width, height int }{{80, 24}, {120, 36}, {200, 50}} {
		for name, text := range map[string]string{"completes": "=json.", "wrong": "=deaths > > ", "text": "valueerror"} {
			t.Run(fmt.Sprintf("%s/%dx%d", name, size.width, size.height), func(t *testing.T) {
				o, _, _ := failedOptions(47)
				terms := onQueue(t, o, failedQueue, size.width, size.height)
				terms.await("47 messages")
				terms.press("/", text)
				terms.await(map[string]string{
					"completes": "tab completes  json.active", "wrong": "character 10: unexpected token", "text": "of 23 in 47",
				}[name])
				terms.golden()
			})
		}
	}
}
