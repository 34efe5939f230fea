package broker_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

func TestCount(t *testing.T) {
	t.Parallel()
	a, c := newApp(t), client(t)
	classic, quorum := a.queue("classic", model.Classic), a.queue("quorum", model.Quorum)
	a.publish(classic, numbered(3)...)
	a.publish(quorum, numbered(4)...)
	refs := []model.QueueRef{classic, {VHost: "/", Name: "no such queue"}, quorum}
	for i := range 20 { // more than a lane's worth: the kept channels have to survive a refusal
		refs = append(refs, a.queue(fmt.Sprint(i), model.Classic))
	}
	for range 3 {
		counts := must.Get(c.Count(t.Context(), refs))(t)
		assert.That(t, len(counts) == 22 && counts[classic].Ready.Or(-1) == 3 && counts[quorum].Ready.Or(-1) == 4 &&
			counts[quorum].Consumers.Or(-1) == 0 && !counts[classic].Held, "%+v", counts)
	}
}

// What dlxtop holds itself is missing from the count, and the count says so.
func TestCountWhileMessagesAreHeld(t *testing.T) {
	t.Parallel()
	for _, kind := range []model.QueueType{model.Classic, model.Quorum} {
		t.Run(string(kind), func(t *testing.T) {
			a, c := newApp(t), client(t)
			queue := a.queue("q", kind)
			a.publish(queue, numbered(5)...)
			began := time.Now()
			count := func() model.QueueCounts {
				t.Helper()
				counts := must.Get(c.Count(t.Context(), []model.QueueRef{queue}))(t)
				return counts[queue]
			}
			if got := count(); got.Held || c.Held(began)[queue] {
				t.Error("it counts as held before anything was taken")
			}
			var meanwhile model.QueueCounts
			must.Get(c.Read(t.Context(), planPeek(described(queue, kind), peek.Want{}), func(*message.Message) error {
				meanwhile = count()
				return nil
			}))(t)
			assert.That(t, meanwhile.Held && meanwhile.Ready.Or(-1) == 0, "while five messages are held: %+v", meanwhile)
			assert.That(t, c.Held(began)[queue] && !c.Held(time.Now())[queue], "when it was held is not known")
			a.until(func() error {
				if got := count(); got.Held || got.Ready.Or(-1) != 5 {
					return fmt.Errorf("afterwards: %+v", got)
				}
				return nil
			})
		})
	}
}

// countSurvivesALostBroker: a broker that went away is an error each time, and is counted again when it is back.
func countSurvivesALostBroker(t *testing.T, n *demo.Node) {
	a, c := newAppOn(t, n), clientOf(t, n)
	queue := a.queue("q", model.Classic)
	must.Get(c.Count(t.Context(), []model.QueueRef{queue}))(t)
	must.Do(t, n.Halt())
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		_, err := c.Count(ctx, []model.QueueRef{queue})
		cancel()
		var connect *model.ConnectError
		if err == nil || ctx.Err() == context.DeadlineExceeded {
			t.Errorf("counted without a broker: %v", err)
		} else if !errors.As(err, &connect) {
			t.Logf("%v", err) // the first one may find the kept channel just closing
		}
	}
	must.Do(t, n.Resume(t.Context()))
	a.until(func() error {
		counts, err := c.Count(t.Context(), []model.QueueRef{queue})
		if err == nil && counts[queue].Ready.Or(-1) != 0 {
			err = fmt.Errorf("%+v", counts)
		}
		return err
	})
}
