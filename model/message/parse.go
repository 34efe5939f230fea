package message

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/dlxtop/dlxtop/model"
)

// sizeUnknown is the size of a body whose line, written by hand, does not give it.
const sizeUnknown = -1

// ParseMessage reads a message from the JSON of MessageJSON, with everything that its publisher set, byte for byte. It
// ignores what is only derived (deaths, failure, message_id at the top): the headers and properties have that. An error
// is one sentence.
func ParseMessage(text []byte) (Message, error) {
	in, err := decodeMessage(text)
	if err != nil {
		return Message{}, err
	}
	return in.Message()
}

func decodeMessage(text []byte) (in MessageJSON, err error) {
	if in.BodyBytes = sizeUnknown; decodeStrict(text, &in) {
		return in, nil
	}
	in = MessageJSON{BodyBytes: sizeUnknown}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	decoder.DisallowUnknownFields()

	if err := decoder.Decode(&in); err != nil {
		if json.Unmarshal(text, new(MessageJSON)) == nil {
			return in, model.Errorf("it has a key that no message has (%v)", err.Error())
		}
		return in, JSONError(err)
	}

	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return in, errors.New("there is more than one message in the line")
	}

	return in, nil
}

// decodeStrict reads JSON as encoding/json does, in half the time. It is false for errors, and for what encoding/json
// reads nevertheless: names that are unknown, there twice or in another case, and invalid UTF-8.
func decodeStrict(text []byte, into any) bool { return jsonv2.Unmarshal(text, into, strict) == nil }

var strict = jsonv2.JoinOptions(
	jsonv2.RejectUnknownMembers(true),
	jsonv1.MergeWithLegacySemantics(true), // null changes nothing
	jsonv2.WithUnmarshalers(jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, v *any) error {
		if d.PeekKind() != jsontext.KindNumber {
			return errors.ErrUnsupported
		}
		number, err := d.ReadValue()
		*v = json.Number(number)
		return err
	})),
)

// Decode reads JSON, with numbers as json.Number. The error is one sentence.
func Decode(text []byte, into any) error {
	if decodeStrict(text, into) {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		return JSONError(err)
	}
	return nil
}

// JSONError makes a sentence of an error of encoding/json.
func JSONError(err error) error {
	var kind *json.UnmarshalTypeError
	var value valueError
	switch {
	case errors.As(err, &value):
		return value
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return errors.New("it ends in the middle of a message")
	case errors.As(err, &kind) && kind.Field == "":
		return fmt.Errorf("it is a JSON %s, not an object", kind.Value)
	case errors.As(err, &kind):
		return model.Errorf("%v has the wrong type: %s", kind.Field, kind.Value)
	}

	return model.Errorf("it is not JSON: %v", err.Error())
}

// Message converts the JSON back to a message. Its deaths and fingerprint are computed again.
func (in *MessageJSON) Message() (Message, error) {
	head := HeadJSON{in.Exchange, in.RoutingKey, in.Properties, in.Headers}
	p, err := head.Publishing()
	if err != nil {
		return Message{}, err
	}
	m := Message{
		Position:    in.Position,
		Exchange:    p.Exchange,
		RoutingKey:  p.RoutingKey,
		Redelivered: in.Redelivered,
		Properties:  p.Properties,
		Headers:     p.Headers,
		BodyBytes:   in.BodyBytes,
	}

	switch in.BodyEncoding {
	case "utf-8", "":
		m.Body = []byte(in.Body)
	case "base64":
		if m.Body, err = base64.StdEncoding.DecodeString(in.Body); err != nil {
			return Message{}, errors.New("its body is not base64")
		}
	default:
		return Message{}, fmt.Errorf("%s is not an encoding of a body: use utf-8 or base64", Excerpt(in.BodyEncoding))
	}

	if in.BodyBytes == sizeUnknown {
		m.BodyBytes = len(m.Body)
	}
	if len(m.Body) != m.BodyBytes {
		return Message{}, fmt.Errorf("its body has %d bytes, and should have %d: it was cut", len(m.Body), m.BodyBytes)
	}
	m.Deaths, m.DeathsError = ParseDeaths(m.Headers)
	m.Identify()
	return m, nil
}
