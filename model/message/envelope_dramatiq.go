package message

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
)

// dramatiqMarks are the options that Dramatiq's retries and delays write into a message
// (dramatiq/middleware/retries.py, worker.py): the count of retries, which a worker compares with max_retries, so that
// a dead message that kept it would die at its first error; the last traceback and when it was requeued; and when a
// delayed one is due. Everything else (its arguments, its id, the time at which it was first enqueued, the options that
// the publisher chose) belongs to the original.
var dramatiqMarks = []string{"retries", "traceback", "requeue_timestamp", "eta"}

// dramatiqBodies has the members that every Dramatiq message has.
var dramatiqBodies = bodiesOf("Dramatiq")

// dramatiq removes from a Dramatiq message what its failures wrote into it, and leaves every other byte as it is.
func (m *Message) dramatiq(wish ResetWish) (Envelope, bool) {
	e := Envelope{Framework: "Dramatiq"}
	object, ok := objectIn(m.Body)
	if !ok {
		e.Problem = "its body looks like a Dramatiq message, but is not JSON"
		return e, true
	}

	var actor, queue string
	name := object.member("queue_name")
	options := object.member("options")
	if !jsonString(object.value(object.member("actor_name")), &actor) || !jsonString(object.value(name), &queue) {
		return Envelope{}, false
	}
	inner, ok := objectIn(object.value(options))
	if !ok {
		return Envelope{}, false
	}
	var removed []string
	for _, mark := range dramatiqMarks {
		if inner.member(mark) != nil && !(wish.KeepTries && mark == "retries") {
			removed = append(removed, mark)
		}
	}

	worker := strings.TrimSuffix(queue, model.HeldSuffix)
	if len(removed) == 0 && worker == queue {
		return Envelope{}, false
	}
	e.Worker = worker
	replaced := map[*JSONPart][]byte{options: inner.without(removed)}
	if worker != queue {
		text, _ := json.Marshal(worker)
		replaced[name] = text
		e.Does = model.Sayf("names the queue %v again in Dramatiq's message", worker)
	}

	if len(removed) > 0 {
		why := "so that the workers count from 0 again"
		switch {
		case slices.Equal(removed, []string{"eta"}):
			why = "so that it is due at once"
		case wish.KeepTries:
			why = "and keeps its retries"
		}
		e.Does = "takes " + strings.Join(removed, ", ") + " out of Dramatiq's options, " + why
	}

	if inner.member("max_age") != nil {
		e.Doubts = append(e.Doubts, "Dramatiq skips a message that is older than its max_age, and its time stays "+
			"that of the first publish")
	}

	o := &e.Original
	*o = Message{RoutingKey: worker, Properties: m.Properties, Headers: m.Headers, Body: object.with(replaced)}
	o.BodyBytes = len(o.Body)
	return e, true
}

// jsonObject is the text of a JSON object with the positions of its members, so that it can be edited without touching
// the rest.
type jsonObject struct {
	text    []byte
	members []JSONPart
}

func objectIn(text []byte) (o jsonObject, ok bool) {
	if trimmed := bytes.TrimLeft(text, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' || !json.Valid(text) {
		return o, false
	}
	return jsonObject{text, slices.Collect(JSONParts(text))}, true
}

// member returns the member of this name, the last one when there are several, as JSON decoders do; nil when there is
// none.
func (o *jsonObject) member(name string) *JSONPart {
	for i := range slices.Backward(o.members) {
		if o.members[i].Name() == name {
			return &o.members[i]
		}
	}

	return nil
}

// value returns the value of a member, nil without one.
func (o *jsonObject) value(m *JSONPart) []byte {
	if m == nil {
		return nil
	}
	return o.text[m.From:m.To]
}

func (o *jsonObject) with(values map[*JSONPart][]byte) []byte {
	var out []byte
	at := 0
	for m := range model.Each(o.members) {
		if v, ok := values[m]; ok {
			out = append(append(out, o.text[at:m.From]...), v...)
			at = m.To
		}
	}

	return append(out, o.text[at:]...)
}

// without returns the text without some members. Between two remaining members stands what stood before the second.
func (o *jsonObject) without(names []string) []byte {
	if len(o.members) == 0 {
		return o.text
	}
	out := slices.Clone(o.text[:o.members[0].Begin])
	kept := 0
	for i, m := range o.members {
		if slices.Contains(names, m.Name()) {
			continue
		}
		if kept > 0 {
			out = append(out, o.text[o.members[i-1].To:m.Begin]...)
		}
		out = append(out, o.text[m.Begin:m.To]...)
		kept++
	}

	return append(out, o.text[o.members[len(o.members)-1].To:]...)
}
