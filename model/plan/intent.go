package plan

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/target"
)

// Intent is what a record keeps of its plan so that it can be resumed: what was asked for, and what was seen when it
// began.
type Intent struct {
	// the queue that messages are taken out of; zero: they come from the journal or a file
	Source     model.QueueRef `json:"-"`
	Depth      int64          `json:"depth,omitempty"` // messages that were ready there; of an import: those of the file
	Selection  Selection      `json:"-"`
	Mode       target.Mode    `json:"mode,omitempty"`
	Fixed      model.Address  `json:"-"`
	Recipients []Recipient    `json:"-"` // those that the user agreed to
	Options
	Canary time.Duration `json:"-"` // how long its canary watches; 0 without one
	File   string        `json:"-"` // the absolute path of an import's file
}

// Intent returns what the journal keeps of a plan that begins with depth messages in its queue.
func (p *Plan) Intent(depth int64) *Intent {
	in := &Intent{
		Source:     p.From,
		Depth:      depth,
		Selection:  p.Selection,
		Mode:       p.Target.Mode,
		Fixed:      p.Target.Fixed,
		Recipients: p.Recipients,
		Options:    p.Options,
	}

	in.KeepDelay = p.KeepDelay && p.Delays
	if p.Canary != nil {
		in.Canary = p.Canary.Wait
	}

	return in
}

type (
	// intentFields are the fields of an Intent that JSON takes as they are.
	intentFields Intent

	intentJSON struct {
		intentFields
		VHost      message.Text    `json:"vhost,omitempty"`
		Source     message.Text    `json:"source,omitempty"`
		Chosen     message.Twins   `json:"chosen,omitempty"`
		OneByOne   bool            `json:"one_by_one,omitempty"`
		MessageID  message.Text    `json:"message_id,omitempty"`
		Expression message.Text    `json:"expression,omitempty"`
		Text       message.Text    `json:"text,omitempty"`
		Limit      int             `json:"limit,omitempty"`
		Cause      message.Text    `json:"cause,omitempty"`
		Exchange   message.Text    `json:"exchange,omitempty"`
		RoutingKey message.Text    `json:"routing_key,omitempty"`
		Recipients []recipientJSON `json:"recipients,omitempty"`
		Canary     int64           `json:"canary_ms,omitempty"`
		File       message.Text    `json:"file,omitempty"`
	}
	recipientJSON struct {
		VHost     message.Text     `json:"vhost"`
		Queue     message.Text     `json:"queue"`
		Consumers model.Opt[int64] `json:"consumers,omitzero"`
		Taken     model.Opt[int64] `json:"taken,omitzero"`
	}
)

// MarshalJSON writes what ParseIntent reads.
func (in *Intent) MarshalJSON() ([]byte, error) {
	s := &in.Selection
	out := intentJSON{
		intentFields: intentFields(*in),
		VHost:        message.TextOf(in.Source.VHost),
		Source:       message.TextOf(in.Source.Name),
		Chosen:       s.Fingerprints,
		OneByOne:     s.Fingerprints != nil,
		MessageID:    message.TextOf(s.MessageID),
		Limit:        s.Limit,
		Cause:        message.TextOf(string(s.Cause)),
		Exchange:     message.TextOf(in.Fixed.Exchange),
		RoutingKey:   message.TextOf(in.Fixed.RoutingKey),
		Canary:       in.Canary.Milliseconds(),
		File:         message.TextOf(in.File),
	}

	f := s.Filter
	switch {
	case f == nil:
	case f.Expression() != "":
		out.Expression = message.TextOf(f.Expression())
	default:
		out.Text = message.TextOf(f.Text)
	}

	for _, r := range in.Recipients {
		out.Recipients = append(out.Recipients, recipientJSON{
			message.TextOf(r.Queue.VHost), message.TextOf(r.Queue.Name), r.Consumers, r.Taken,
		})
	}

	return json.Marshal(out)
}

// ParseIntent reads what MarshalJSON wrote. The error is one sentence.
func ParseIntent(text []byte) (*Intent, error) {
	var read intentJSON
	err := message.Decode(text, &read)
	if err != nil {
		return nil, err
	}
	in := Intent(read.intentFields)
	in.Source = model.QueueRef{VHost: string(read.VHost), Name: string(read.Source)}
	in.Fixed = model.Address{Exchange: string(read.Exchange), RoutingKey: string(read.RoutingKey)}
	in.Canary = time.Duration(read.Canary) * time.Millisecond
	in.File = string(read.File)
	in.Selection = Selection{
		Fingerprints: read.Chosen, MessageID: string(read.MessageID), Limit: read.Limit, Cause: cause.ID(read.Cause),
	}

	if read.OneByOne && read.Chosen == nil {
		in.Selection.Fingerprints = message.Twins{}
	}

	for _, r := range read.Recipients {
		in.Recipients = append(in.Recipients, Recipient{
			Queue: model.QueueRef{VHost: string(r.VHost), Name: string(r.Queue)}, Consumers: r.Consumers, Taken: r.Taken,
		})
	}

	switch {
	case read.Expression != "":
		in.Selection.Filter, err = filter.ParseExpression(string(read.Expression))
	case read.Text != "":
		if in.Selection.Filter, err = filter.Parse(string(read.Text)); err != nil {
			err = fmt.Errorf("the filter of the record: %w", err)
		}
	}

	return &in, err
}
