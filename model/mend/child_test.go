package mend_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/mend"
	"github.com/dlxtop/dlxtop/model/message"
)

// What a message costs is bounded, whatever it holds, and the next one is changed as before.
func TestCostsAreBounded(t *testing.T) {
	defer mend.SetMostTime(5 * time.Second)()
	line := strings.Repeat("log line of thirty characters ", 20_000)
	for _, test := range []struct {
		program, body string
		kind          mend.Kind
	}{
		{`.body.s |= gsub("[a-z]";"b")`, `{"s":"` + line + `"}`, mend.Slow},
		{`.body.a[.body.i] = 1`, `{"i":536870000,"a":[]}`, mend.Large},
		{`.body.q *= 3`, `{"q":` + strings.Repeat("9", 5_000_000) + `}`, mend.Slow},
	} {
		_, changed, err := program(t, test.program).Apply(&message.Publishing{Body: []byte(test.body)})
		var problem *mend.Problem
		assert.That(t, errors.As(err, &problem) && problem.Kind == test.kind && !changed,
			"%s: %t %v", test.program, changed, err)
		made, _, err := program(t, `.body.a = 1`).Apply(&message.Publishing{Body: []byte(`{}`)})
		assert.That(t, err == nil && string(made.Body) == `{"a":1}`, "after %s: %s %v", test.program, made.Body, err)
	}
}

// watched closes begun at the nth call of Done.
type watched struct {
	context.Context
	left  atomic.Int64
	begun chan struct{}
}

func (w *watched) Done() <-chan struct{} {
	if w.left.Add(-1) == 0 {
		close(w.begun)
	}
	return w.Context.Done()
}

// Cancelling ends a program that is running.
func TestStoppedProgram(t *testing.T) {
	body := []byte(`{"s":"` + strings.Repeat("a", 1_000_000) + `"}`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := &watched{Context: ctx, begun: make(chan struct{})}
	w.left.Store(2) // for its turn, and then with the process
	p := program(t, `.body.s |= gsub("a";"b")`).Within(w)
	ends := make(chan error)
	go func() {
		_, _, err := p.Apply(&message.Publishing{Body: body})
		ends <- err
	}()
	<-w.begun
	cancel()
	var problem *mend.Problem
	if err := <-ends; !errors.As(err, &problem) || problem.Kind != mend.Stopped {
		t.Errorf("%v", err)
	}
}

// TestIdleChildEnds: a child ends that has nothing to do, and the next message has another one.
func TestIdleChildEnds(t *testing.T) {
	for range 2 {
		back := mend.SetIdleTime(time.Hour)
		if _, _, err := program(t, `.body = 1`).Apply(&message.Publishing{}); err != nil || !mend.HasChild() {
			t.Fatalf("no child is left: %v", err)
		}
		back()
		back = mend.SetIdleTime(time.Millisecond)
		if _, _, err := program(t, `.body = 1`).Apply(&message.Publishing{}); err != nil {
			t.Fatal(err)
		}
		for began := time.Now(); mend.HasChild(); {
			must.That(t, time.Since(began) <= time.Minute, "the child does not end")
		}
		back()
	}
}

func BenchmarkApply(b *testing.B) {
	p := must.Get(mend.Parse(`.body.attempts = 0 | .headers["x-fixed"] = "yes"`))(b)
	m := message.Publishing{
		Body:    []byte(`{"id":121,"user":{"name":"Guan","mail":"g@example.com"},"items":[1,2,3]}`),
		Headers: map[string]any{"x-tenant": "acme", "x-tries": int32(3)},
	}
	for b.Loop() {
		_, changed, err := p.Apply(&m)
		must.That(b, err == nil && changed, "%v", err)
	}
}
