package trace

import (
	"bytes"
	"encoding/json"

	"github.com/dlxtop/dlxtop/model/message"
)

// tapBindingJSON is a binding as JSON has it: its arguments as the headers of a message are written, because plain JSON
// would change their types.
type tapBindingJSON struct {
	Exchange  string
	Key       string         `json:",omitempty"`
	Arguments map[string]any `json:",omitempty"`
	Identity  string         `json:",omitempty"`
}

// MarshalJSON writes the binding with the types of its arguments.
func (b TapBinding) MarshalJSON() ([]byte, error) {
	return json.Marshal(tapBindingJSON{
		message.TextJSON(b.Exchange), message.TextJSON(b.Key), message.HeadersJSON(b.Arguments), message.TextJSON(b.Identity),
	})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (b *TapBinding) UnmarshalJSON(text []byte) (err error) {
	var in tapBindingJSON
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&in); err != nil {
		return message.JSONError(err)
	}
	for _, field := range []struct {
		from string
		to   *string
	}{{in.Exchange, &b.Exchange}, {in.Key, &b.Key}, {in.Identity, &b.Identity}} {
		if *field.to, err = message.ParseText(field.from); err != nil {
			return err
		}
	}
	b.Arguments, err = message.ParseHeaders(in.Arguments)
	return err
}

// Names may hold any bytes, and JSON's texts only UTF-8.
type (
	plainTap   TapPlan
	plainProbe ProbePlan
)

// MarshalJSON writes all of the plan.
func (p TapPlan) MarshalJSON() ([]byte, error) { return message.WriteTexts(plainTap(p)) }

// UnmarshalJSON reads what MarshalJSON wrote.
func (p *TapPlan) UnmarshalJSON(text []byte) error { return message.ReadTexts(text, (*plainTap)(p)) }

// MarshalJSON writes all of the plan.
func (p ProbePlan) MarshalJSON() ([]byte, error) { return message.WriteTexts(plainProbe(p)) }

// UnmarshalJSON reads what MarshalJSON wrote.
func (p *ProbePlan) UnmarshalJSON(text []byte) error {
	return message.ReadTexts(text, (*plainProbe)(p))
}
