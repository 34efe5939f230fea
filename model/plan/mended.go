package plan

import (
	"cmp"
	"errors"
	"maps"
	"reflect"
	"slices"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/draft"
	"github.com/dlxtop/dlxtop/model/mend"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/target"
)

const (
	mostShown   = 5         // messages changed by a program that are shown as examples
	shownBytes  = 256 << 10 // of an example's body
	mostEndless = 3         // messages on which a program runs out of time before it is not tried any more
)

// Mended is what the program of a plan makes of the sample.
type Mended struct {
	Changed  int
	Same     int // published as they would be without it
	Stay     int // nothing can be published for them
	Failures []MendFailure
	Shown    []MendedMessage // the first ones that it changes, at most five
}

// MendFailure is why some messages stay.
type MendFailure struct {
	Why      model.Objection
	Messages int
}

// MendedMessage is a message as it would be published without a program, and with it.
type MendedMessage struct {
	Queue    model.QueueRef
	Position int // in its queue; 1 is the head
	Was, Is  draft.Draft
}

// Looked returns how many messages the program was tried on.
func (m *Mended) Looked() int { return m.Changed + m.Same + m.Stay }

// MendedTogether merges the results of several plans. Its examples are taken from each in turn.
func MendedTogether(all []*Mended) (m Mended) {
	for _, o := range all {
		m.Changed += o.Changed
		m.Same += o.Same
		m.Stay += o.Stay
		for _, f := range o.Failures {
			same := func(g MendFailure) bool { return reflect.DeepEqual(f.Why, g.Why) }
			if i := slices.IndexFunc(m.Failures, same); i >= 0 {
				m.Failures[i].Messages += f.Messages
			} else {
				m.Failures = append(m.Failures, f)
			}
		}
	}

	for turn := range mostShown {
		for _, o := range all {
			if turn < len(o.Shown) && len(m.Shown) < mostShown {
				m.Shown = append(m.Shown, o.Shown[turn])
			}
		}
	}

	return m
}

// KeepsWhole reports whether the journal keeps the originals whole: when publishing changes more than a replay strips,
// or when some may be lost.
func (p *Plan) KeepsWhole() bool { return p.Whole || p.Edited != nil || p.Mend != nil }

// mend runs the program on a message as it would be published, and returns both versions. When the program fails, or
// its result must not be published, the way has the problem. A changed address is another way, and changed headers may
// be, too.
func (p *Plan) mend(t *model.Topology, m *message.Message, o message.Opened, way *target.Way) (
	was, is message.Publishing, changed bool,
) {
	was = p.publishing(o.Message, *way)
	if way.Problem != nil {
		was.Address = p.Target.Fixed
		if p.Target.Mode == target.ToAuto || p.Target.Mode == target.ToOrigin {
			was.Address, _ = m.OriginBy(o.Envelope)
		}
	}

	mark, marked := was.Headers[message.ReplayHeader]
	was.Headers = without(was.Headers, isMark) // it is dlxtop's own, and programs need not handle it
	is, changed, err := p.Mend.Apply(&was)
	if err == nil && changed {
		err = p.mayPublish(t, &was, &is)
	}

	var problem *mend.Problem
	switch {
	case errors.As(err, &problem):
		*way = target.Way{Problem: NotMended{problem}}
		return was, was, false
	case !changed:
	case is.Address != was.Address:
		*way = p.Target.WayBy(t, m, o.Envelope, is.Headers, is.Address, target.WhyEdited)
	case way.Problem == nil:
		again := p.Target.WayBy(t, m, o.Envelope, is.Headers, way.Address, way.Why)
		again.Clue, again.Against = way.Clue, way.Against
		*way = again
	}

	if marked {
		if is.Headers = maps.Clone(is.Headers); is.Headers == nil {
			is.Headers = model.Table{}
		}
		is.Headers[message.ReplayHeader] = mark
	}

	is.Reaches = way.Reaches
	return was, is, changed
}

// mayPublish refuses what no broker accepts, and what would send a message further than the plan says.
func (p *Plan) mayPublish(t *model.Topology, was, is *message.Publishing) error {
	changed := model.Table{}
	for name, v := range is.Headers {
		if before, there := was.Headers[name]; !there || !equalValue(before, v) {
			changed[name] = v
		}
	}

	refuse := func(field, words string) error {
		return &mend.Problem{Kind: mend.NotAllowed, Field: field, Detail: words}
	}
	made := message.Publishing{Address: is.Address, Properties: is.Properties, Headers: changed}
	var wrong *draft.FieldError
	_, delays := changed[message.DeliveryTimeHeader]
	most := t.Behaviour.MaxMessageSize

	size := int64(len(is.Body))
	switch {
	case errors.As(draft.Check(&made), &wrong):
		return refuse(wrong.Field, wrong.Words)
	case is.Properties.UserID != "" && is.Properties.UserID != p.User:
		return refuse("user_id", "is not that of the connected user, and RabbitMQ takes no other")
	case delays && p.strips(message.DeliveryTimeHeader):
		return refuse(message.DeliveryTimeHeader, "is set, by which RabbitMQ keeps a message back (--keep-delay sets it)")
	case p.Operation == Move && is.Address != was.Address:
		return refuse("the address", "is changed by the jq program, and a move goes to one queue")
	case size > most && size > int64(len(was.Body)):
		return &mend.Problem{Kind: mend.TooLarge, Bytes: size, Most: most}
	}

	return nil
}

// mending collects what a program makes of a sample.
type mending struct {
	mended  *Mended // nil without a program
	endless int     // messages on which the program ran out of time
	why     *mend.Problem
}

// try runs the program on one message. It returns the edit, nil without a program, and the size of the body to publish.
func (n *mending) try(
	p *Plan, t *model.Topology, m *message.Message, o message.Opened, way *target.Way,
) (asked *draft.Draft, size int64) {
	switch {
	case p.Edited != nil:
		return p.Edited, int64(m.BodyBytes)
	case n.mended == nil:
		return nil, int64(m.BodyBytes)
	case n.endless == mostEndless:
		*way = target.Way{Problem: NotMended{n.why}}
		n.mended.Stay++
		return nil, 0
	}

	was, is, changed := p.mend(t, m, o, way)
	switch {
	case way.Problem != nil:
		n.stays(way.Problem)
		return nil, 0
	case !changed:
		n.mended.Same++
	default:
		n.mended.Changed++
		if len(n.mended.Shown) < mostShown && len(was.Body) <= shownBytes && len(is.Body) <= shownBytes {
			n.mended.Shown = append(n.mended.Shown, MendedMessage{p.From, m.Position, draftOf(&was), draftOf(&is)})
		}
	}

	return (*draft.Draft)(&is), int64(len(is.Body))
}

// draftOf returns what is published, without a mark. It does not retain the rest of a page.
func draftOf(p *message.Publishing) draft.Draft {
	d := draft.Draft(*p)
	d.Headers, d.Body, d.Reaches = without(p.Headers, isMark), slices.Clone(p.Body), nil
	return d
}

// stays records a message for which nothing can be published.
func (n *mending) stays(why model.Objection) {
	n.mended.Stay++
	if failed, ok := why.(NotMended); ok && failed.Why.Costly() {
		n.endless, n.why = n.endless+1, failed.Why
	}

	for f := range model.Each(n.mended.Failures) {
		if reflect.DeepEqual(f.Why, why) {
			f.Messages++
			return
		}
	}

	if len(n.mended.Failures) < target.MostOffered {
		n.mended.Failures = append(n.mended.Failures, MendFailure{why, 1})
	}
}

func (n *mending) write(p *Plan) {
	if n.mended == nil {
		return
	}
	p.Mended = n.mended
	slices.SortStableFunc(p.Mended.Failures, func(a, b MendFailure) int { return cmp.Compare(b.Messages, a.Messages) })
	switch {
	case n.endless == mostEndless:
		p.against(NotMended{n.why})
	case n.mended.Changed == 0 && n.mended.Same > 0:
		p.warn(mendsNothing())
	}
}

// Words returns "598 of 600 messages are changed, 1 is published unchanged, 1 stays in the queue".
func (m *Mended) Words() string {
	words := model.Sayf("%v of %v message(s) (is|are) changed", m.Changed, m.Looked())
	if m.Same > 0 {
		words += model.Sayf(", %v (is|are) published unchanged", m.Same)
	}
	if m.Stay > 0 {
		words += model.Sayf(", %v (stays|stay) in the queue", m.Stay)
	}

	return words
}
