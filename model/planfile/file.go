// Package planfile is a plan in a file: which messages, where they go, and how the broker was, so that somebody else
// can read it and apply it later.
package planfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
)

// version is that of the form of a file.
const version = 1

// MostBytes bounds the size of a file.
const MostBytes = 64 << 20

// File is a plan in a file.
type File struct {
	Version   int            `json:"dlxtop_plan"`       // of this form
	Made      string         `json:"made"`              // RFC 3339
	By        string         `json:"by"`                // the user on the broker
	Reason    string         `json:"reason,omitempty"`  // why
	Broker    string         `json:"broker"`            // its host:port
	Cluster   string         `json:"cluster,omitempty"` // its cluster's name
	Operation plan.Operation `json:"operation"`         // replay, move or drop
	Messages  int            `json:"messages"`          // how many
	Prints    int            `json:"fingerprint_kind"`  // message.FingerprintKind
	Intent    intent         `json:"intent"`            // which messages, by fingerprint, and what is done with them
	Ways      []way          `json:"ways,omitempty"`    // where they are published, and what that reaches
	Strips    []text         `json:"strips,omitempty"`  // headers and properties that are removed
	Harm      []text         `json:"harm,omitempty"`    // what limits drop or refuse, and what a second failure loses
	Queues    []queue        `json:"queues"`            // those that messages leave and reach, as they were
	Sum       string         `json:"checksum"`          // SHA-256 of all the rest
}

type (
	intent struct{ *plan.Intent }
	way    struct {
		Exchange   text   `json:"exchange"`
		RoutingKey text   `json:"routing_key"`
		Messages   int    `json:"messages"`
		Reaches    []text `json:"reaches"`
		Exact      bool   `json:"exact"`
	}
	queue struct {
		Name     text            `json:"queue"`
		Settings map[string]text `json:"settings"` // with their sources; those that are not set are left out
	}
)

func (in *intent) UnmarshalJSON(from []byte) (err error) {
	in.Intent, err = plan.ParseIntent(from)
	return err
}

// text is a text of any bytes.
type text string

// MarshalText implements encoding.TextMarshaler.
func (t text) MarshalText() ([]byte, error) { return []byte(message.TextJSON(string(t))), nil }

// UnmarshalText reads what MarshalText wrote.
func (t *text) UnmarshalText(from []byte) error {
	read, err := message.ParseText(string(from))
	*t = text(read)
	return err
}

// New completes the file of a plan whose messages are selected by their fingerprints: f says who made it, where, when
// and why. The error is one sentence.
func New(f File, p *plan.Plan, t *model.Topology) (*File, error) {
	f.Version, f.Prints = version, message.FingerprintKind
	f.Operation, f.Messages = p.Operation, p.Planned
	f.Cluster = t.Snapshot.Overview.ClusterName
	f.Intent = intent{p.Intent(0)}
	f.Strips, f.Harm = texts(p.Strips), texts(harmOf(p))
	for w := range model.Each(p.Ways) {
		reaches := texts(model.Mapped(w.Reaches, func(ref *model.QueueRef) string { return ref.Name }))
		f.Ways = append(f.Ways, way{text(w.Exchange), text(w.RoutingKey), w.Messages, reaches, w.Exact})
	}

	all := []model.QueueRef{p.From}
	for _, r := range p.Recipients {
		if r.Queue != p.From {
			all = append(all, r.Queue)
		}
	}
	f.Queues = model.Mapped(all, func(ref *model.QueueRef) queue { return queue{text(ref.Name), settingsOf(t, *ref)} })

	f.Sum = f.sum()
	return &f, f.check()
}

func texts(all []string) []text {
	return model.Mapped(all, func(s *string) text { return text(*s) })
}

func (f *File) ways() []plan.PlannedWay {
	return model.Mapped(f.Ways, func(w *way) plan.PlannedWay {
		made := plan.PlannedWay{Messages: w.Messages}
		made.Address = model.Address{Exchange: string(w.Exchange), RoutingKey: string(w.RoutingKey)}
		made.Exact = w.Exact
		for _, name := range w.Reaches {
			made.Reaches = append(made.Reaches, f.Intent.Source.Beside(string(name)))
		}
		return made
	})
}

// harmOf has a sentence for all that happens to messages of a plan where they go.
func harmOf(p *plan.Plan) (words []string) {
	none, is := plan.Promise{}, plan.Promise{Harm: p.Harm}
	for _, c := range none.Changes(&is) {
		words = append(words, c.Words())
	}
	return words
}

// JSON returns the file as a text.
func (f *File) JSON() ([]byte, error) { return json.MarshalIndent(f, "", " ") }

// sum returns the checksum that the file should have.
func (f *File) sum() string {
	without := *f
	without.Sum = ""
	hash := sha256.Sum256(without.canonical())
	return hex.EncodeToString(hash[:])
}

func (f *File) canonical() []byte {
	made, err := json.Marshal(f)
	if err != nil {
		return nil // check refuses it: the checksum differs
	}
	return canonical(made)
}

// canonical returns JSON without spaces and with sorted members.
func canonical(made []byte) []byte {
	var all any
	if err := message.Decode(made, &all); err != nil {
		return nil
	}
	sorted, err := json.Marshal(all)
	if err != nil {
		return nil
	}
	return sorted
}

// Parse reads the text of a file. The error is one sentence: nothing that was changed by hand is a plan.
func Parse(read []byte) (*File, error) {
	var form struct {
		Version *int `json:"dlxtop_plan"`
	}

	if !json.Valid(read) {
		return nil, errors.New("it is not a plan, or only a part of one: it is not JSON")
	}
	if err := message.Decode(read, &form); err != nil || form.Version == nil {
		return nil, errors.New("it is not a plan: dlxtop replay --plan-out makes one")
	}
	if *form.Version != version {
		return nil, fmt.Errorf("it is a plan of form %d, and this dlxtop reads form %d: make it again with this version",
			*form.Version, version)
	}

	var f File
	if err := message.Decode(read, &f); err != nil {
		return nil, fmt.Errorf("%w: make the plan again", err)
	}
	if f.Intent.Intent == nil || f.Sum != f.sum() || !bytes.Equal(canonical(read), f.canonical()) {
		return nil, errors.New("it was changed after it was made, as its checksum shows, or has parts that this version " +
			"does not know: make the plan again")
	}
	return &f, f.check()
}

// longestCanary is how long --canary-wait may be.
const longestCanary = time.Hour

// check refuses what no plan is: also one whose checksum was calculated again.
func (f *File) check() error {
	in := f.Intent.Intent
	n, odd := 0, false
	for _, twins := range in.Selection.Fingerprints {
		odd = odd || twins < 1 || twins > f.Messages
		n += twins
	}

	known := slices.Contains([]plan.Operation{plan.Replay, plan.Move, plan.Drop}, f.Operation)
	paced := in.Rate >= 0 && in.Canary >= 0 && in.Canary <= longestCanary
	plain := in.MarkName == "" && in.Edited == nil && len(in.Selection.Except) == 0
	switch {
	case f.Prints != message.FingerprintKind:
		return errors.New("another version of dlxtop recognizes messages by other fingerprints: make the plan again")
	case n == 0 && !odd:
		return errors.New("it has no messages, or their queue was not read to its end: --limit takes fewer")
	case odd || n != f.Messages || !known || !paced || !plain:
		return errors.New("it contradicts itself: make the plan again")
	}

	return nil
}

// Want is what the plan wants done.
func (f *File) Want() plan.ActionWant {
	in := f.Intent.Intent
	return plan.ActionWant{
		Operation: f.Operation,
		From:      in.Source,
		Selection: plan.Selection{Fingerprints: maps.Clone(in.Selection.Fingerprints)},
		Planned:   f.Messages,
		Mode:      in.Mode,
		Fixed:     in.Fixed,
		Options:   in.Options,
		Canary:    in.Canary,
	}
}

// Outline is the plan as far as the file says it, to show it: it cannot be run.
func (f *File) Outline() plan.Plan {
	in := f.Intent.Intent
	p := plan.Plan{
		Operation: f.Operation, From: in.Source, Planned: f.Messages, Options: in.Options, Recipients: in.Recipients,
	}

	p.Target.Mode, p.Target.Fixed = in.Mode, in.Fixed
	p.Ways = f.ways()
	if in.Canary > 0 {
		p.Canary = &plan.Canary{Wait: in.Canary}
	}
	for i := range p.Recipients {
		for _, w := range p.Ways {
			if r := &p.Recipients[i]; slices.Contains(w.Reaches, r.Queue) {
				r.Messages += w.Messages
			}
		}
	}

	p.Strips = model.Mapped(f.Strips, func(s *text) string { return string(*s) })
	for _, words := range f.Harm {
		p.Warnings = append(p.Warnings, plan.Warning{Says: string(words), Grave: true})
	}

	return p
}

// Words say what the plan is, and who made it.
func (f *File) Words() string {
	words := model.Sayf("%s %v message(s) of %s, planned %s by %s on %s", f.Operation, f.Messages, f.Intent.Source,
		f.Made, f.By, f.Broker)
	if f.Reason != "" {
		words += ": " + f.Reason
	}
	return words
}
