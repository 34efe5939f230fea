package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/draft"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/mend"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/target"
)

// Intent is what a record keeps of its plan, so that somebody can go on with it: what was asked for, and what was
// seen when it began.
type Intent struct {
	Source     model.QueueRef // the queue that messages are taken out of; zero: none, they come from the journal or a file
	Depth      int64          // messages that were ready there when it began; of an import: messages of the file
	Selection  Selection
	Mode       target.Mode
	Fixed      model.Address
	Recipients []Recipient // who agreed to the plan agreed to these
	Mark       bool
	MarkName   string
	KeepTries  bool
	KeepDelay  bool
	Doubles    bool
	Rate       float64
	Insist     bool
	Canary     time.Duration // how long its canary watches; 0: it has none
	Edited     *draft.Draft
	Mend       *mend.Program // a resume changes the rest by the same program; nil: nothing is changed
	File       string        // of an import: its absolute path
}

// Intent is what the journal keeps of a plan that begins with depth messages in its queue.
func (p *Plan) Intent(depth int64) *Intent {
	in := &Intent{
		Source: p.From, Depth: depth, Selection: p.Selection, Mode: p.Target.Mode, Fixed: p.Target.Fixed,
		Recipients: p.Recipients, Mark: p.Mark, MarkName: p.MarkName, Rate: p.Rate, Insist: p.Insist, Edited: p.Edited,
		KeepTries: p.KeepTries, KeepDelay: p.KeepDelay && p.Delays, Doubles: p.Doubles, Mend: p.Mend,
	}
	if p.Canary != nil {
		in.Canary = p.Canary.Wait
	}
	if r := p.Resuming; r != nil { // which goes on with what was ready when the first one began
		in.Depth = min(depth, r.Left)
	}
	return in
}

type (
	intentJSON struct {
		VHost      string          `json:"vhost,omitempty"`
		Source     string          `json:"source,omitempty"`
		Depth      int64           `json:"depth,omitempty"`
		Chosen     map[string]int  `json:"chosen,omitempty"` // by fingerprint
		OneByOne   bool            `json:"one_by_one,omitempty"`
		MessageID  string          `json:"message_id,omitempty"`
		Expression string          `json:"expression,omitempty"`
		Text       string          `json:"text,omitempty"`
		Limit      int             `json:"limit,omitempty"`
		Mode       target.Mode     `json:"mode,omitempty"`
		Cause      string          `json:"cause,omitempty"`
		Exchange   string          `json:"exchange,omitempty"`
		RoutingKey string          `json:"routing_key,omitempty"`
		Recipients []recipientJSON `json:"recipients,omitempty"`
		Mark       bool            `json:"mark,omitempty"`
		MarkName   string          `json:"mark_name,omitempty"`
		KeepTries  bool            `json:"keep_tries,omitempty"`
		KeepDelay  bool            `json:"keep_delay,omitempty"`
		Doubles    bool            `json:"doubles,omitempty"`
		Rate       float64         `json:"rate,omitempty"`
		Insist     bool            `json:"insist,omitempty"`
		Canary     int64           `json:"canary_ms,omitempty"`
		Edited     *draft.Draft    `json:"edited,omitempty"`
		Mend       *mend.Program   `json:"edit,omitempty"`
		File       string          `json:"file,omitempty"`
	}
	recipientJSON struct {
		VHost     string           `json:"vhost"`
		Queue     string           `json:"queue"`
		Consumers model.Opt[int64] `json:"consumers,omitzero"`
		Taken     model.Opt[int64] `json:"taken,omitzero"`
	}
)

// MarshalJSON writes what ParseIntent reads.
func (in *Intent) MarshalJSON() ([]byte, error) {
	s := &in.Selection
	out := intentJSON{
		VHost: message.TextJSON(in.Source.VHost), Source: message.TextJSON(in.Source.Name), Depth: in.Depth,
		OneByOne: s.Fingerprints != nil, MessageID: message.TextJSON(s.MessageID), Limit: s.Limit,
		Mode: in.Mode, Exchange: message.TextJSON(in.Fixed.Exchange), RoutingKey: message.TextJSON(in.Fixed.RoutingKey),
		Mark: in.Mark, MarkName: in.MarkName, Rate: in.Rate, Insist: in.Insist, Canary: in.Canary.Milliseconds(),
		File: message.TextJSON(in.File), KeepTries: in.KeepTries, Cause: message.TextJSON(string(s.Cause)),
		Mend: in.Mend, KeepDelay: in.KeepDelay, Doubles: in.Doubles, Edited: in.Edited,
	}
	if len(s.Fingerprints) > 0 {
		out.Chosen = make(map[string]int, len(s.Fingerprints))
		for f, n := range s.Fingerprints {
			out.Chosen[f.String()] = n
		}
	}
	switch f := s.Filter; {
	case f == nil:
	case f.Expression() != "":
		out.Expression = message.TextJSON(f.Expression())
	default:
		out.Text = message.TextJSON(f.Text)
	}
	for _, r := range in.Recipients {
		out.Recipients = append(out.Recipients, recipientJSON{
			message.TextJSON(r.Queue.VHost), message.TextJSON(r.Queue.Name), r.Consumers, r.Taken,
		})
	}
	return json.Marshal(out)
}

// UnmarshalJSON is ParseIntent.
func (in *Intent) UnmarshalJSON(text []byte) error {
	read, err := ParseIntent(text)
	if err == nil {
		*in = *read
	}
	return err
}

// ParseIntent reads what MarshalJSON wrote. The error is one sentence.
func ParseIntent(text []byte) (*Intent, error) {
	var read intentJSON
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&read); err != nil {
		return nil, message.JSONError(err)
	}
	in := &Intent{
		Depth: read.Depth, Mode: read.Mode, Mark: read.Mark, MarkName: read.MarkName, Rate: read.Rate, Insist: read.Insist,
		Canary: time.Duration(read.Canary) * time.Millisecond, KeepTries: read.KeepTries,
		Mend: read.Mend, KeepDelay: read.KeepDelay, Doubles: read.Doubles, Edited: read.Edited,
		Recipients: slices.Grow([]Recipient(nil), len(read.Recipients))[:len(read.Recipients)],
	}
	in.Selection.Limit = read.Limit
	texts := []textField{
		{read.VHost, &in.Source.VHost},
		{read.Source, &in.Source.Name},
		{read.MessageID, &in.Selection.MessageID},
		{read.Exchange, &in.Fixed.Exchange},
		{read.RoutingKey, &in.Fixed.RoutingKey},
		{read.File, &in.File},
		{read.Cause, (*string)(&in.Selection.Cause)},
		{read.Text, &read.Text},
		{read.Expression, &read.Expression},
	}
	for i, r := range read.Recipients {
		out := &in.Recipients[i]
		out.Consumers, out.Taken = r.Consumers, r.Taken
		texts = append(texts, textField{r.VHost, &out.Queue.VHost}, textField{r.Queue, &out.Queue.Name})
	}
	if err := parseTexts(texts); err != nil {
		return nil, err
	}
	return in, in.parseSelection(&read)
}

// textField is a text as JSON has it, and where it belongs.
type textField struct {
	from string
	to   *string
}

func parseTexts(fields []textField) (err error) {
	for _, f := range fields {
		if *f.to, err = message.ParseText(f.from); err != nil {
			return err
		}
	}
	return nil
}

func (in *Intent) parseSelection(read *intentJSON) (err error) {
	s := &in.Selection
	if read.OneByOne {
		s.Fingerprints = make(map[message.Fingerprint]int, len(read.Chosen))
	}
	for text, n := range read.Chosen {
		f, err := parseFingerprint(text)
		if err != nil {
			return err
		}
		s.Fingerprints[f] = n
	}
	switch {
	case read.Expression != "":
		s.Filter, err = filter.ParseExpression(read.Expression)
	case read.Text != "":
		if s.Filter, err = filter.Parse(read.Text); err != nil {
			err = fmt.Errorf("the filter of the record: %w", err)
		}
	}
	return err
}
