package jq_test

import (
	"context"
	"errors"
	"os"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/jq"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/mend"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/google/go-cmp/cmp"
)

// TestMain makes this program a child of its own tests when it was started as one.
func TestMain(m *testing.M) {
	if !jq.Serve() {
		os.Exit(m.Run())
	}
}

func program(t testing.TB, runner mend.Runner, text string) *mend.Program {
	t.Helper()
	p := must.Get(mend.Parse(text))(t)
	return p.Within(t.Context(), runner)
}

// What a child answers is what the program makes of the message: the unchanged parts are those of the original.
func TestChildAnswersLikeTheProcess(t *testing.T) {
	in := message.Publishing{
		Body:    []byte(`{"a": 1.10, "b": [ 1 ]}`),
		Headers: model.Table{"n": int8(1), "\xff": []byte{0xff}, "at": time.Unix(1e9, 0)},
	}

	for _, text := range []string{
		`.`,
		`.body.b += [2]`,
		`.headers.n = 2`,
		`del(.headers[])`,
		`.body = null | .routing_key = "k"`,
	} {
		want, changes, err := program(t, mend.InProcess{}, text).Apply(&in)
		must.Do(t, err)
		got, changed, err := program(t, jq.New(), text).Apply(&in)
		must.Do(t, err)
		assert.Equal(t, changed, changes, text)
		assert.NoDiff(t, cmp.Diff(want, got, cmp.Exporter(func(reflect.Type) bool { return true })), text)
	}
}

// The cost of a message is bounded, whatever it contains, and the next one is processed as usual.
func TestCostsAreBounded(t *testing.T) {
	runner := jq.NewWith(5*time.Second, time.Minute)
	line := strings.Repeat("log line of thirty characters ", 20_000)
	for _, test := range []struct {
		program, body string
		kind          mend.Kind
	}{
		{`.body.s |= gsub("[a-z]";"b")`, `{"s":"` + line + `"}`, mend.Slow},
		{`.body.a[.body.i] = 1`, `{"i":536870000,"a":[]}`, mend.Large},
		{`.body.q *= 3`, `{"q":` + strings.Repeat("9", 5_000_000) + `}`, mend.Slow},
	} {
		_, changed, err := program(t, runner, test.program).Apply(&message.Publishing{Body: []byte(test.body)})
		var problem *mend.Problem
		must.That(t, errors.As(err, &problem), "%s: %t %v", test.program, changed, err)
		assert.Equal(t, problem.Kind, test.kind, "%v", test.program)
		assert.That(t, !changed, "%s: %t %v", test.program, changed, err)
		made, _, err := program(t, runner, `.body.a = 1`).Apply(&message.Publishing{Body: []byte(`{}`)})
		must.That(t, err == nil, "after %s: %s %v", test.program, made.Body, err)
		assert.Equal(t, string(made.Body), `{"a":1}`, "%v", test.program)
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

// Cancelling stops a running program.
func TestStoppedProgram(t *testing.T) {
	body := []byte(`{"s":"` + strings.Repeat("a", 1_000_000) + `"}`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := &watched{Context: ctx, begun: make(chan struct{})}
	w.left.Store(2) // first for its turn, then with the process
	p := program(t, nil, `.body.s |= gsub("a";"b")`).Within(w, jq.New())
	ends := make(chan error)
	go func() {
		_, _, err := p.Apply(&message.Publishing{Body: body})
		ends <- err
	}()

	<-w.begun
	cancel()
	var problem *mend.Problem
	err := <-ends
	must.That(t, errors.As(err, &problem), "%v", err)
	assert.Equal(t, problem.Kind, mend.Stopped)
}

// An idle child exits, and the next message gets another one.
func TestIdleChildEnds(t *testing.T) {
	runner := jq.NewWith(time.Minute, time.Hour)
	_, _, err := program(t, runner, `.body = 1`).Apply(&message.Publishing{})
	must.Do(t, err)
	must.That(t, runner.HasChild(), "no child is left")

	runner = jq.NewWith(time.Minute, time.Millisecond)
	for range 2 {
		_, _, err := program(t, runner, `.body = 1`).Apply(&message.Publishing{})
		must.Do(t, err)
		must.Await(t, "the child ends", func() bool { return !runner.HasChild() })
	}
}

func BenchmarkApply(b *testing.B) {
	p := program(b, jq.New(), `.body.attempts = 0 | .headers["x-fixed"] = "yes"`)
	m := message.Publishing{
		Body:    []byte(`{"id":121,"user":{"name":"Guan","mail":"g@example.com"},"items":[1,2,3]}`),
		Headers: map[string]any{"x-tenant": "acme", "x-tries": int32(3)},
	}

	for b.Loop() {
		_, changed, err := p.Apply(&m)
		must.Do(b, err)
		must.That(b, changed, "%v", err)
	}
}
