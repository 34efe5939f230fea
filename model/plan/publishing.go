package plan

import (
	"fmt"
	"maps"
	"slices"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/draft"
	"github.com/dlxtop/dlxtop/model/loss"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/target"
)

func (p *Plan) strips(key string) bool {
	return message.IsBrokerHeader(key) && !(p.KeepDeaths && message.IsDeathHeader(key)) ||
		key == message.DeliveryTimeHeader && p.Delays && !p.KeepDelay
}

// opening is m as the plan publishes it, before anything is stripped: a replay opens an envelope, a move does not.
func (p *Plan) opening(m *message.Message) message.Opened {
	if p.Operation == Move {
		return message.Opened{Message: m, Envelope: nil}
	}
	o := message.OpeningWith(m, p.wish())
	if e := p.Edited; e != nil {
		edited := *o.Message
		edited.Properties, edited.Headers, edited.Body, edited.BodyBytes = e.Properties, e.Headers, e.Body, len(e.Body)
		o.Message = &edited
	}

	return o
}

// reopening is opening, plus the resets for the message's framework.
func (p *Plan) reopening(m *message.Message) (message.Opened, []message.Reset) {
	o := p.opening(m)
	var resets []message.Reset
	o.Message, resets = p.resetting(o.Message)
	return o, resets
}

// noteChanges collects what is removed from a message (header names, and "expiration" and "user_id" for the properties)
// and what is kept of its death history. Everything else is kept byte for byte. For a message in an envelope it is what
// the original loses.
//
// asked is the message after an edit; nil without one.
func (p *Plan) noteChanges(m *message.Message, asked *draft.Draft, strips, keeps map[string]bool) {
	if p.Operation != Move {
		m = message.Opening(m).Message
	}

	for key := range m.Headers {
		switch {
		case p.strips(key):
			strips[key] = true
		case message.IsDeathHeader(key):
			keeps[key] = true
		}
	}

	if m.Properties.Expiration != "" && (asked == nil || asked.Properties.Expiration == "") {
		strips["expiration"] = true
	}
	if asked != nil && asked.Properties.HasForeignUser(p.User) || m.Properties.HasForeignUser(p.User) {
		strips["user_id"] = true
	}
}

func (p *Plan) Adds() []string {
	if p.Mark {
		return []string{message.ReplayHeader}
	}
	return nil
}

// Publishing returns what acting on m publishes, or an error in one sentence when the plan does not allow it: the
// message then stays where it is.
func (r *Run) Publishing(m *message.Message) (message.Publishing, error) {
	p := &r.Plan
	o, _ := p.reopening(m)
	way := p.Target.WayOf(r.Topology, m, o)
	var out message.Publishing
	if p.Mend != nil {
		_, out, _ = p.mend(r.Topology, m, o, &way)
	}
	if way.Problem != nil {
		return message.Publishing{}, &Unpublished{way.Problem}
	}
	if way.Loses() && !p.Insist {
		return message.Publishing{}, &Unpublished{lost{inJournal, Harm{Again: []loss.SecondFailure{*way.Again}}}}
	}
	for _, q := range way.Reaches {
		if !slices.ContainsFunc(p.Recipients, func(r Recipient) bool { return r.Queue == q }) {
			return message.Publishing{}, fmt.Errorf("it would also reach %s, which the plan does not name", q)
		}
	}

	if p.Mend == nil {
		out = p.publishing(o.Message, way)
	}

	if p.Mark {
		if p.Edited != nil {
			m = message.Opening(m).Message // an edit neither shows nor removes a mark
		} else {
			m = o.Message
		}
		out.Mark(m, o.Envelope, p.MarkName, p.Edited != nil || way.Why == target.WhyEdited)
	}

	return out, nil
}

type Unpublished struct{ model.Objection }

func (u *Unpublished) Error() string { return u.Words() }

// publishing returns what is published for an opened message, without a mark.
func (p *Plan) publishing(m *message.Message, way target.Way) message.Publishing {
	out := message.Publishing{Address: way.Address, Properties: m.Properties, Body: m.Body, Reaches: way.Reaches}
	if p.Edited == nil { // otherwise the edit asked for it
		out.Properties.Clear(message.PropExpiration)
	}
	if m.Properties.HasForeignUser(p.User) {
		out.Properties.Clear(message.PropUserID)
	}

	out.Headers = without(m.Headers, p.strips)
	return out
}

// without returns a copy of headers without some; nil when none are left.
func without(headers model.Table, drops func(key string) bool) model.Table {
	kept := maps.Clone(headers)
	if maps.DeleteFunc(kept, func(key string, _ any) bool { return drops(key) }); len(kept) == 0 {
		return nil
	}
	return kept
}

func isMark(key string) bool { return key == message.ReplayHeader }

// NewDraft returns what a replay of a message would publish. Where its target is unknown, it has the address of its
// origin.
func NewDraft(t *model.Topology, from model.QueueRef, m *message.Message, user string) draft.Draft {
	p := Plan{Operation: Replay, From: from, User: user, Target: target.New(t, from, target.ToAuto, model.Address{})}
	o, _ := p.reopening(m)
	way := p.Target.WayOf(t, m, o)
	if way.Problem != nil {
		origin, _ := m.OriginBy(o.Envelope)
		way.Address = origin
	}

	out := p.publishing(o.Message, way)
	return draftOf(&out)
}
