package plan

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/target"
)

// A plan is data: all of it survives JSON. What has headers or a body is written as messages are, because plain JSON
// would change their types and bytes.

// kinds are the types of warnings and objections, by their names.
var kinds = func() map[string]reflect.Type {
	named := map[string]reflect.Type{}
	for _, kind := range append(target.Problems(),
		new(notJournaled), new(inAlarm), new(someStay), new(sameID), new(alsoIn), new(otherKey), new(outvotedClue),
		new(notOpened), new(opensEnvelope), new(mendsNothing), new(downMeanwhile), new(insistedOn), new(losesSome),
		new(converted), new(withDelay), new(canaryCounts), new(canaryIdle), new(canaryEarly), new(goBack),
		new(comeLater), new(noConsumer), new(notTheWorker), new(refusesFull), new(expiresThem), new(deletesItself),
		new(twoFrameworks), new(answerLost), new(lastTry), new(untimely), new(notRestored), new(alsoStrayed),
		new(expiresAgain), new(mayBeGone), new(takesBack), new(notUndone), new(NotMended), new(Double),
		new(notReadable), new(sampleGone), new(importToNone), new(targetDown), new(canaryBlind), new(canaryCounted),
		new(tooSlow), new(lost), new(badTarget), new(isUndo), new(isImport), new(stillRuns), new(otherBroker),
		new(backGone), new(maybeThere), new(thereUnknown), new(copiesUnknown), new(NothingLeft),
	) {
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

func writeKind(v any) ([]byte, error) {
	of, err := message.WriteTexts(v)
	if err != nil {
		return nil, err
	}
	return json.Marshal(kindJSON{reflect.TypeOf(v).Name(), of})
}

func readKind[K any](text []byte, kind *K) error {
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
	*kind, known = read.Elem().Interface().(K)
	if !known {
		return fmt.Errorf("%s is not of the kind that is expected here", in.Kind)
	}
	return nil
}

// MarshalJSON writes the warning with its kind.
func (w Warning) MarshalJSON() ([]byte, error) { return writeKind(w.WarningKind) }

// UnmarshalJSON reads what MarshalJSON wrote.
func (w *Warning) UnmarshalJSON(text []byte) error { return readKind(text, &w.WarningKind) }

// MarshalJSON writes the objection with its kind.
func (o Objection) MarshalJSON() ([]byte, error) { return writeKind(o.ObjectionKind) }

// UnmarshalJSON reads what MarshalJSON wrote.
func (o *Objection) UnmarshalJSON(text []byte) error { return readKind(text, &o.ObjectionKind) }

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
