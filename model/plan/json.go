package plan

import (
	"bytes"
	"encoding/json"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// A plan is data: all of it survives JSON. What has headers or a body is written as messages are, because plain JSON
// would change their types and bytes.

// MarshalJSON writes the draft as a message.
func (d Draft) MarshalJSON() ([]byte, error) { return json.Marshal(d.json()) }

// UnmarshalJSON reads what MarshalJSON wrote.
func (d *Draft) UnmarshalJSON(text []byte) error {
	var in message.MessageJSON
	if err := exactly(text, &in); err != nil {
		return err
	}
	read, err := editedAs(&in)
	*d = read
	return err
}

func (d *Draft) json() message.MessageJSON {
	m := d.Message()
	return m.JSON()
}

func editedAs(in *message.MessageJSON) (Draft, error) {
	m, err := in.Message()
	return Draft{model.Address{Exchange: m.Exchange, RoutingKey: m.RoutingKey}, m.Properties, m.Headers, m.Body}, err
}

// entryState is what becomes of an entry after it was written.
type entryState struct {
	Outcome Outcome   `json:"outcome,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Undone  bool      `json:"undone,omitempty"`
	Undoing []Attempt `json:"undoing,omitempty"`
	Claimed int64     `json:"claimed,omitempty"`
}

// MarshalJSON writes the entry as JSON has it, with the undos of it.
func (e Entry) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		EntryJSON
		Undoing []Attempt `json:"undoing,omitempty"`
		Claimed int64     `json:"claimed,omitempty"`
	}{e.JSON(), e.Undoing, e.Claimed})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (e *Entry) UnmarshalJSON(text []byte) error {
	read, err := ParseEntry(text)
	if err != nil {
		return err
	}
	var state entryState
	if err := json.Unmarshal(text, &state); err != nil {
		return message.JSONError(err)
	}
	read.Outcome, read.Reason, read.Undone = state.Outcome, state.Reason, state.Undone
	read.Undoing, read.Claimed = state.Undoing, state.Claimed
	*e = read
	return nil
}

// exactly reads JSON without rounding its numbers.
func exactly(text []byte, v any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(v); err != nil {
		return message.JSONError(err)
	}
	return nil
}

// Names may hold any bytes, and JSON's texts only UTF-8.
type (
	plainPlan    Plan
	plainUndo    UndoPlan
	plainPromise Promise
)

// MarshalJSON writes all of the plan.
func (p Plan) MarshalJSON() ([]byte, error) { return message.WriteTexts(plainPlan(p)) }

// UnmarshalJSON reads what MarshalJSON wrote.
func (p *Plan) UnmarshalJSON(text []byte) error { return message.ReadTexts(text, (*plainPlan)(p)) }

// MarshalJSON writes all of the plan.
func (p UndoPlan) MarshalJSON() ([]byte, error) { return message.WriteTexts(plainUndo(p)) }

// UnmarshalJSON reads what MarshalJSON wrote.
func (p *UndoPlan) UnmarshalJSON(text []byte) error { return message.ReadTexts(text, (*plainUndo)(p)) }

// MarshalJSON writes all of the promise.
func (p Promise) MarshalJSON() ([]byte, error) { return message.WriteTexts(plainPromise(p)) }

// UnmarshalJSON reads what MarshalJSON wrote.
func (p *Promise) UnmarshalJSON(text []byte) error {
	return message.ReadTexts(text, (*plainPromise)(p))
}
