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
