package observe

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/alarm"
	"github.com/dlxtop/dlxtop/model/message"
)

// watching is the watch command as it was given.
type watching struct {
	*Program
	polling
	when          []string
	per           string
	wait          time.Duration
	command, hook string
	form, output  string
	rules         []alarm.Rule
	ctx           context.Context
	states        []*alarm.State  // of the rules; nil before the first answer
	keys          []string        // of the states
	told          map[string]bool // what was said once
}

func (p *Program) watchCommand() *cobra.Command {
	w := &watching{Program: p, told: map[string]bool{}}
	cmd := &cobra.Command{
		Use:     "watch",
		Short:   "Polls on without a screen, and says when a rule begins to hold and when it ends",
		GroupID: groupID,
		Example: "dlxtop watch --when 'failed > 0' --when 'oldest_failed > 10m' --for 2m\n" +
			"dlxtop watch --when new_cause --webhook https://hooks.example/dlxtop --form slack",
		Long: `Poll the broker as the dashboard does, and decide rules: conditions on the facts of each flow, queue, vhost,
cause or finding, in the language of filters (docs/watch.md lists the facts). What begins to hold is told
once, and once when it ends, also after a restart: on standard output, by a command, or by a request to a webhook. What is not
delivered is tried again.

The command of --run is run by sh; it has the event in its environment (DLXTOP_EVENT, DLXTOP_SUBJECT,
DLXTOP_FAILED …) and as JSON on standard input. --webhook, or DLXTOP_WEBHOOK, takes a POST of that JSON, or
of what Slack or Alertmanager take.

Exit status: with --once 1 when a rule holds, or cannot be decided for something, else 0.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if w.hook == "" && w.command == "" {
				w.hook = p.Env("DLXTOP_WEBHOOK")
			}
			if err := w.check(); err != nil {
				return err
			}
			w.ctx = cmd.Context()
			return p.each(w.ctx, &w.polling, w.polled)
		},
	}

	set := cmd.Flags()
	set.StringArrayVar(&w.when, "when", nil, "a rule: a `CONDITION`; can be given several times")
	set.StringVar(&w.per, "per", "", "decide it for each flow, queue, vhost, cause or finding (default: by its facts)")
	set.DurationVar(&w.wait, "for", 0, "tell only what has held for this `TIME`")
	set.StringVar(&w.command, "run", "", "tell by this `COMMAND`, which sh runs")
	set.StringVar(&w.hook, "webhook", "", "tell by a POST to this `URL`")
	set.StringVar(&w.form, "form", "json", "of the webhook: json, slack or alertmanager")
	set.StringVarP(&w.output, "output", "o", "table", "of standard output: table, or json (a line for each event)")
	set.BoolVar(&w.once, "once", false, "poll once, and tell what holds")
	w.register(cmd)

	return cmd
}

func (w *watching) check() error {
	if len(w.when) == 0 {
		return w.Usage("watch needs a rule: --when 'failed > 0', for example")
	}
	for _, text := range w.when {
		rule, err := alarm.NewRule(text, alarm.Per(w.per), w.wait)
		if err != nil {
			return w.Usage("--when: %s", err)
		}
		w.rules = append(w.rules, rule)
	}

	address, err := url.Parse(w.hook)
	plain := err == nil && (address.Scheme == "http" || address.Scheme == "https") && address.Host != ""
	switch {
	case w.command != "" && w.hook != "":
		return w.Usage("--run and --webhook need a watch each")
	case w.hook != "" && !plain:
		return w.Usage("--webhook takes an address that begins with https:// or http://")
	case !slices.Contains([]string{"json", "slack", "alertmanager"}, w.form):
		return w.Usage("--form is json, slack or alertmanager")
	case w.output != "table" && w.output != "json":
		return w.Usage("--output is table or json")
	case w.once && w.wait > 0:
		return w.Usage("--for needs a watch that runs on: leave out --once")
	case w.wait < 0:
		return w.Usage("--for %s: it is 0 or more", w.wait)
	}

	return w.polling.check(w.Program)
}

// keeps reports whether what fires is kept for the next run: not for a look by hand.
func (w *watching) keeps() bool { return !w.once || w.command != "" || w.hook != "" }

// polled decides the rules after a poll, and tells what began or ended.
func (w *watching) polled(r *reader, now *answer) (done bool, err error) {
	firing, unsure := 0, 0
	if now.err == nil {
		broker := now.Topology.Snapshot.Overview.ClusterName
		if w.states == nil {
			w.load(r, broker)
		}
		for i := range w.rules {
			rule, state := &w.rules[i], w.states[i]
			if w.once && !state.At.IsZero() {
				now.elapsed = max(now.Now.Sub(state.At), 0)
			}
			unknown, err := state.Decide(rule, broker, now.Now, now.elapsed, now.Things(rule.Per))
			if err != nil {
				return true, w.Usage("%s", err)
			}
			for subject, why := range unknown {
				w.noteOnce("%q is not decided for %s: %s", rule.Text, subject, why)
			}
			firing, unsure = firing+len(state.Firing()), unsure+len(unknown)
		}
		w.save(r)
	}

	for _, state := range w.states {
		err := state.Deliver(func(e *alarm.Event) error { return w.send(e) })
		if errors.Is(err, syscall.EPIPE) {
			return true, err
		}
		if err != nil {
			w.noteOnce("not told, and tried again: %s", err)
		}
	}

	w.save(r)
	if w.once && firing+unsure > 0 {
		return true, w.Firing
	}
	return w.once, nil
}

func (w *watching) noteOnce(format string, values ...any) {
	if words := model.Sayf(format, values...); !w.told[words] && len(w.told) < 1000 {
		w.told[words] = true
		w.Note("%s", words)
	}
}

// kept is the file of what fires.
type kept struct {
	Format int                     `json:"format"`
	Rules  map[string]*alarm.State `json:"rules"` // by what a watch was told, and by broker
}

// keyOf identifies a rule with all that it does: another command has not told yet what fires.
func (w *watching) keyOf(r *reader, rule *alarm.Rule, broker string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", []string{
		broker, r.VHost, rule.Text, string(rule.Per), rule.For.String(), w.command, w.hook, w.form,
	}))
	return hex.EncodeToString(sum[:8])
}

func (w *watching) load(r *reader, broker string) {
	file := kept{}
	if w.keeps() {
		text, err := r.Memory.Load()
		if err == nil && len(text) > 0 {
			err = json.Unmarshal(text, &file)
		}
		if err != nil {
			w.Note("what fired before is unknown, so it is told again: %s", err)
		}
	}

	for i := range w.rules {
		w.keys = append(w.keys, w.keyOf(r, &w.rules[i], broker))
		state := file.Rules[w.keys[i]]
		if state == nil {
			state = &alarm.State{}
		}
		w.states = append(w.states, state)
	}
}

// forgottenAfter is how long the state of a rule is kept that no watch decides any more.
const forgottenAfter = 30 * 24 * time.Hour

func (w *watching) save(r *reader) {
	if !w.keeps() {
		return
	}
	_, err := r.Memory.Change(func(text []byte) ([]byte, error) {
		file := kept{}
		if len(text) > 0 {
			if err := json.Unmarshal(text, &file); err != nil {
				return nil, err
			}
		}
		if file.Rules == nil {
			file = kept{1, map[string]*alarm.State{}}
		}

		for i, key := range w.keys {
			file.Rules[key] = w.states[i]
		}
		maps.DeleteFunc(file.Rules, func(_ string, s *alarm.State) bool { return time.Since(s.At) > forgottenAfter })
		return json.Marshal(file)
	})
	if err != nil {
		w.noteOnce("what fires is not kept over a restart: %s", err)
	}
}

// patience bounds what tells one event.
const patience = 10 * time.Second

// send tells one event.
func (w *watching) send(e *alarm.Event) error {
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	text, err := json.Marshal(e)
	switch {
	case err != nil:
		return err
	case w.command != "":
		return run(ctx, w.command, text)
	case w.hook != "":
		return post(ctx, w.hook, bodyOf(w.form, e, text))
	case w.output == "json":
		_, err = fmt.Fprintf(w.Out, "%s\n", text)
	default:
		_, err = fmt.Fprintln(w.Out, e.Words())
	}

	return err
}

// run runs a command by sh, with an event in its environment and on its standard input. No fact becomes a part of it.
func run(ctx context.Context, command string, event []byte) error {
	program := exec.CommandContext(ctx, "sh", "-c", command)
	program.Env = append(os.Environ(), environment("DLXTOP_", event)...)
	program.Stdin = bytes.NewReader(event)
	program.Stdout, program.Stderr = os.Stderr, os.Stderr
	program.WaitDelay = time.Second
	if err := program.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return fmt.Errorf("the command failed: %w", err)
	}
	return nil
}

// environment returns a variable for each text, number and truth of an object, and of the objects in it.
func environment(prefix string, object []byte) (all []string) {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(object, &members) // of what is no object there are none
	for name, value := range members {
		name = strings.ToUpper(name)
		var text string
		switch {
		case value[0] == '{' && name == "FACTS":
			all = append(all, environment(prefix, value)...)
		case value[0] == '{':
			all = append(all, environment(prefix+name+"_", value)...)
		case json.Unmarshal(value, &text) == nil:
			all = append(all, prefix+name+"="+strings.ReplaceAll(text, "\x00", ""))
		default:
			all = append(all, prefix+name+"="+string(value))
		}
	}

	return all
}

// bodyOf returns what is posted.
func bodyOf(form string, e *alarm.Event, text []byte) []byte {
	switch form {
	case "slack":
		text, _ = json.Marshal(map[string]string{"text": e.Words()})
	case "alertmanager":
		// Without an end Alertmanager ends it by itself, after its resolve_timeout.
		ends := e.At
		if e.Event == "begins" {
			ends = message.JSONTime(time.Now().AddDate(1, 0, 0))
		}
		text, _ = json.Marshal([]any{map[string]any{
			"startsAt": e.Since, "endsAt": ends,
			"labels": map[string]string{
				"alertname": "dlxtop", "rule": e.Rule, "per": string(e.Per), "subject": e.Subject, "broker": e.Broker,
			},
			"annotations": map[string]string{"summary": e.Words(), "facts": string(e.Facts)},
		}})
	}

	return text
}

// post sends a body. The address may have a secret in it, so no error has it.
func post(ctx context.Context, address string, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return errors.New("the address of the webhook cannot be used")
	}
	request.Header.Set("Content-Type", "application/json")
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(request)
	var failed *url.Error
	if errors.As(err, &failed) {
		return fmt.Errorf("the webhook at %s: %w", request.URL.Host, failed.Err)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<20))
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("the webhook at %s answers %s", request.URL.Host, answer.Status)
	}
	return nil
}
