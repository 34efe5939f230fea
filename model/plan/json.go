package plan

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/target"
)

// A plan is data: all of it survives JSON. What has headers or a body is written as messages are, because plain JSON
// would change their types and bytes.

// kinds are the types of objections, by their names.
var kinds = func() map[string]reflect.Type {
	named := map[string]reflect.Type{}
	for _, kind := range []any{
		new(model.Said), new(target.NoWorker), new(NotMended), new(Double), new(lost), new(NothingLeft),
	} {
		of := reflect.TypeOf(kind).Elem()
		named[of.Name()] = of
	}
	return named
}()

// kindJSON is a value with the name of its type.
type kindJSON struct {
	Kind string
	Of   json.RawMessage
}

// MarshalJSON writes the objection with its kind.
func (o Objection) MarshalJSON() ([]byte, error) {
	of, err := message.WriteTexts(o.ObjectionKind)
	if err != nil {
		return nil, err
	}
	return json.Marshal(kindJSON{reflect.TypeOf(o.ObjectionKind).Name(), of})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (o *Objection) UnmarshalJSON(text []byte) error {
	var in kindJSON
	if err := json.Unmarshal(text, &in); err != nil {
		return message.JSONError(err)
	}
	of, known := kinds[in.Kind]
	if !known {
		return fmt.Errorf("there is no kind %s", message.Excerpt(in.Kind))
	}
	read := reflect.New(of)
	if err := message.ReadTexts(in.Of, read.Interface()); err != nil {
		return err
	}
	o.ObjectionKind, _ = read.Elem().Interface().(ObjectionKind)
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
