package shell

import (
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
)

// Run is an action that was agreed to, as far as it came.
type Run struct {
	What    string      // printable
	State   dialogState // DialogEnded also where it asks again before it goes on
	Began   time.Time
	Account plan.Account
	Err     error
}

// Runner is a screen with a run that can go on in the background.
type Runner interface{ HowFar() Run }

// Job is a run that was sent to the background. Its page is zero once that was opened after the end.
type Job struct {
	Page
	Run
}

func (r Run) Runs() bool { return r.State == DialogRunning || r.State == DialogStopping }

// HowFar returns how far the run of an action has come.
func (d *Dialog) HowFar() Run {
	a := &d.Account
	r := Run{model.Sayf("%s %s", a.Operation, a.From), d.State, d.began, *a, d.Err}
	if d.feed == nil { // it is not an action
		r.State = DialogClosed
	}
	return r
}

// Words say how it ended, in one line.
func (r *Run) Words() string {
	words := []string{r.What, r.Account.Words()}
	if r.Err != nil {
		words = append(words, ReadableError(r.Err))
	}
	if why := r.Account.Stopped; why != "" {
		words = append(words, model.Printable(why))
	}
	return strings.Join(words, ": ")
}

// Pace returns how many messages a second were done, and how long the rest takes at that; 0: unknown.
func (r *Run) Pace(now time.Time) (rate float64, left time.Duration) {
	done, took := r.Account.Done(), now.Sub(r.Began)
	if done == 0 || took <= 0 || !r.Runs() {
		return 0, 0
	}
	rate = float64(done) / took.Seconds()
	return rate, time.Duration(float64(r.Account.Planned-done) / rate * float64(time.Second))
}

// Detach makes a page with a run a job.
func (m *Memory) Detach(p Page) {
	m.Jobs = slices.DeleteFunc(m.Jobs, func(j *Job) bool { return j.Number == p.Number })
	m.Jobs = append(m.Jobs, &Job{p, p.Screen.(Runner).HowFar()})
}

// RunningJobs returns how many jobs have not ended.
func (m *Memory) RunningJobs() (n int) {
	for _, j := range m.Jobs {
		if j.Runs() {
			n++
		}
	}
	return n
}
