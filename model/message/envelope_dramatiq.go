package message

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
)

// dramatiqMarks are the options that Dramatiq's retries and delays write into a message
// (dramatiq/middleware/retries.py, worker.py): the count of retries, which a worker compares with max_retries, so that
// a dead message that kept it would die at its first error; the last traceback and when it was tried again; and when a
// delayed one is due. All else (its arguments, its id, the time at which it was first enqueued, the options that the
// publisher chose) is the original's.
var dramatiqMarks = []string{"retries", "traceback", "requeue_timestamp", "eta"}

// dramatiqMembers are what a Dramatiq message has at least.
var dramatiqMembers = []string{"actor_name", "queue_name", "options"}

// dramatiq takes out of a Dramatiq message what its failures wrote into it, and leaves every other byte as it is.
func (m *Message) dramatiq(wish ResetWish) (Envelope, bool) {
	for _, key := range []string{`"actor_name"`, `"queue_name"`, `"options"`, `"message_id"`} {
		if !bytes.Contains(m.Body, []byte(key)) {
			return Envelope{}, false
		}
	}
	e := Envelope{Framework: "Dramatiq"}
	object, err := parseObject(m.Body)
	var actor, queue string
	if err != nil {
		if bytes.HasPrefix(bytes.TrimSpace(m.Body), []byte("{")) {
			e.Problem = "its body looks like a Dramatiq message, but is not JSON"
		}
		return e, e.Problem != ""
	}
	name, options := object.member("queue_name"), object.member("options")
	if a := object.member("actor_name"); a == nil || name == nil || options == nil ||
		!jsonString(object.value(a), &actor) || !jsonString(object.value(name), &queue) {
		return Envelope{}, false
	}
	inner, err := parseObject(object.value(options))
	if err != nil {
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
	replaced := map[*member][]byte{options: inner.without(removed)}
	if worker != queue {
		text, _ := json.Marshal(worker)
		replaced[name] = text
		e.Does = fmt.Sprintf("names the queue %s again in Dramatiq's message", model.Printable(worker))
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

// jsonObject is the text of a JSON object with the places of its members, to change it without touching what stays.
type jsonObject struct {
	text    []byte
	members []*member
}

// member is a member of an object: its name, and where the name begins, the value begins and the value ends.
type member struct {
	name              string
	start, value, end int
}

func parseObject(text []byte) (*jsonObject, error) {
	o := &jsonObject{text: text}
	if !json.Valid(text) {
		return nil, fmt.Errorf("no JSON")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("no JSON object")
	}
	for d.More() {
		before := int(d.InputOffset())
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := t.(string)
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return nil, err
		}
		end := int(d.InputOffset())
		start := before + bytes.IndexByte(text[before:], '"')
		o.members = append(o.members, &member{name, start, end - len(v), end})
	}
	return o, nil
}

// member is the one of this name, the last one when there are several, as readers of JSON take it.
func (o *jsonObject) member(name string) *member {
	for _, m := range slices.Backward(o.members) {
		if m.name == name {
			return m
		}
	}
	return nil
}

func (o *jsonObject) value(m *member) []byte { return o.text[m.value:m.end] }

// with is the text with other values for some members.
func (o *jsonObject) with(values map[*member][]byte) []byte {
	var out []byte
	at := 0
	for _, m := range o.members {
		if v, ok := values[m]; ok {
			out = append(append(out, o.text[at:m.value]...), v...)
			at = m.end
		}
	}
	return append(out, o.text[at:]...)
}

// without is the text without some members. What stands between two members that stay is what stood before the second.
func (o *jsonObject) without(names []string) []byte {
	if len(o.members) == 0 {
		return o.text
	}
	out := slices.Clone(o.text[:o.members[0].start])
	kept := 0
	for i, m := range o.members {
		if slices.Contains(names, m.name) {
			continue
		}
		if kept > 0 {
			out = append(out, o.text[o.members[i-1].end:m.start]...)
		}
		out = append(out, o.text[m.start:m.end]...)
		kept++
	}
	return append(out, o.text[o.members[len(o.members)-1].end:]...)
}
