package ui

import (
	"encoding/json"
	"regexp"
	"strconv"
	"testing"

	rabbithole "github.com/michaelklishin/rabbit-hole/v2"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/manage"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
)

var setPolicy = regexp.MustCompile(`set_policy -p '(.+)' --apply-to (\S+) --priority (\d+) (\S+) '(.+)' '(.+)'`)

// Where a look has a cost, there is one question, and one look at each queue says what failed, why and how many, by
// what the broker counted: a listed cause does not open as an empty one. The line that Failed prints before makes looks
// free: more than the limit lose nothing.
func TestLooksThatTheBrokerCounts(t *testing.T) {
	o, channel := storyVHost(t, "mail", "sms")
	o.Consent = ""
	for _, name := range []string{"mail", "sms"} {
		failInto(t, channel, name+".failed", "quorum", "ValueError: no address", 4)
	}

	version := model.ParseVersion(testNode.Get(t).Version())
	screen := o.open(t, 200, 40).await("mail ", "8 failed").press("3")
	var line []string
	if !version.AtLeast(4, 3) {
		screen.await("Read 2 failed queues").press(keyEsc).await("messages wait in 2 queues")
		line = setPolicy.FindStringSubmatch(screen.screen())
		must.Equal(t, line != nil, version.AtLeast(4, 0), "a policy lifts the limit")
		screen.press(":queue mail.failed", keyEnter).await("not read, for a look has a cost: ").press("q")
		screen.await("messages wait in 2 queues").press("L").await("When to look").press("2")
	}

	screen.await("   8 read").press("g", keyEnter).await("8 found", "complete")
	screen.press(keyEnter).await("4 messages", "ValueError").press("r").await("Replay 1 message")
	screen.agree("replay", "1 message moved").press(keyEnter, "q").await("7 found")
	screen.press("q", ":queue sms.failed", keyEnter).await("4 messages")

	look := func(queue string, n int) (counted int64) {
		held := dial.Channel(t, urlOf(testNode.Get(t), o.VHost))
		for range n {
			counted, _ = take(t, held, queue, false).Headers["x-delivery-count"].(int64)
		}

		must.Do(t, held.Close())
		holds(t, channel, queue, n)
		return counted
	}

	assert.That(t, look("sms.failed", 4) <= 1, "more than a look")
	assert.That(t, look("mail.failed", 3) <= 2, "more than a look and a replay")
	if line == nil {
		return
	}

	lifted := rabbithole.Policy{Vhost: line[1], ApplyTo: line[2], Name: line[4], Pattern: line[5]}
	lifted.Priority = must.Get(strconv.Atoi(line[3]))(t)
	must.Do(t, json.Unmarshal([]byte(line[6]), &lifted.Definition))
	manage.Of(t, testNode.Get(t).API()).SetPolicy(false, lifted)

	for range 25 {
		look("sms.failed", 4)
	}
}
