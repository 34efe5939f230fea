package cases

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/findings"
)

// situation is one that a stranger has reported: what there is, what happens, and what dlxtop must say of it.
type situation struct {
	name    string
	from    string                     // the public report
	when    func(model.Behaviour) bool // nil: on every version
	parts   []build.Part
	traffic func(*world) // nil: none
	says    []string     // "LEVEL CODE QUEUE", and behind ": " words of its sentences. Errors that are not here are false
	silent  []string     // "CODE", or "CODE QUEUE"
	replays []replay
	check   func(*world) // what has no field above
}

// replay is what `dlxtop replay` must do with a queue. Before messages are sent, workers acknowledge what they get.
type replay struct {
	queue string
	to    string   // as --to takes it; "" is auto
	reach string   // the queues of the dry run, with a space between; "refused"
	warns string   // words that the dry run must say
	got   []string // what workers get when it is done, as "QUEUE ID", sorted; nil: it is not done
}

// play plays situations, each in a vhost of its own, all at once: they wait for the broker most of the time.
func play(t *testing.T, situations ...situation) {
	t.Helper()
	t.Parallel()
	for _, s := range situations {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if s.when != nil && !s.when(model.BehaviourOf(model.ParseVersion(w.node.Version()))) {
				t.Skip("not on RabbitMQ " + w.node.Version())
			}
			w.declare(s.parts)
			if s.traffic != nil {
				s.traffic(w)
			}
			w.judge(&s)
			for _, r := range s.replays {
				w.replay(r)
			}
			if s.check != nil {
				s.check(w)
			}
		})
	}
}

// judge waits until the findings are those of the situation: what has just happened may not be in statistics yet.
func (w *world) judge(s *situation) {
	w.Helper()
	var found []findings.Finding
	var wrong []string
	defer func() {
		if w.Failed() {
			w.Log(strings.Join(wrong, "\n"))
			for _, f := range found {
				w.Logf("%s: %s [%s] -> %s", line(&f), f.Message, f.Evidence, f.Remedy)
			}
		}
	}()
	w.await("the findings are those of "+s.from, func() bool {
		topology, known := w.topology()
		if !known {
			wrong = []string{"statistics do not tell all of every queue"}
			return false
		}
		found = findings.Of(topology)
		wrong = s.wrong(found)
		return len(wrong) == 0
	})
}

func line(f *findings.Finding) string { return fmt.Sprintf("%s %s %s", f.Level, f.Code, f.Queue) }

// wrong is what is missing among findings, and what must not be there.
func (s *situation) wrong(found []findings.Finding) (wrong []string) {
	for _, want := range s.says {
		head, words, _ := strings.Cut(want, ": ")
		if !slices.ContainsFunc(found, func(f findings.Finding) bool {
			return line(&f) == head && strings.Contains(f.Message+"\n"+f.Evidence+"\n"+f.Remedy, words)
		}) {
			wrong = append(wrong, "missing: "+want)
		}
	}
	for i := range found {
		f := &found[i]
		if f.Level == findings.LevelError && !slices.ContainsFunc(s.says, func(want string) bool {
			head, _, _ := strings.Cut(want, ": ")
			return head == line(f)
		}) {
			wrong = append(wrong, "a false error: "+line(f))
		}
		if slices.Contains(s.silent, f.Code) || slices.Contains(s.silent, f.Code+" "+f.Queue) {
			wrong = append(wrong, "must be silent: "+line(f))
		}
	}
	return wrong
}

func (w *world) replay(r replay) {
	w.Helper()
	args := []string{"replay", r.queue, "-o", "json"}
	if r.to != "" {
		args = append(args, "--to", r.to)
	}
	status, out, errs := w.dlxtop(append(args, "--dry-run")...)
	var plan struct{ Recipients, Warnings []string }
	reach := "refused"
	if status == 0 {
		must.Do(w, json.Unmarshal([]byte(out), &plan))
		reach = strings.Join(plan.Recipients, " ")
	}
	if reach != r.reach || !strings.Contains(errs+strings.Join(plan.Warnings, "\n"), r.warns) {
		w.Errorf("%v reaches %s, not %s, and warns %q: %s", args, reach, r.reach, plan.Warnings, errs)
	}
	if r.got == nil {
		return
	}
	for queue := range w.workers {
		w.work(queue, acks)
	}
	before := len(w.seen())
	if status, out, errs = w.dlxtop(append(args, "--yes")...); status != 0 {
		w.Errorf("%v: exit status %d: %s%s", args, status, out, errs)
	}
	w.await(fmt.Sprintf("workers get %d messages", len(r.got)), func() bool { return len(w.seen()) >= before+len(r.got) })
	got := slices.Sorted(slices.Values(w.seen()[before:]))
	if !slices.Equal(got, r.got) {
		w.Errorf("%v: workers got %q, not %q", args, got, r.got)
	}
}
