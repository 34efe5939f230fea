package message

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/dlxtop/dlxtop/model"
)

// sizeUnknown is the size of a body whose line, written by hand, does not give it.
const sizeUnknown = -1

// ParseMessage reads a message from the JSON of MessageJSON, with everything that its publisher set, byte for byte. It
// ignores what is only derived (deaths, failure, message_id at the top): the headers and properties have that. An error
// is one sentence.
func ParseMessage(text []byte) (Message, error) {
	rest, inside, ok := cutBody(text)
	if !ok {
		return parseWhole(text)
	}
	body, ok := unquoted(inside)
	if !ok {
		return parseWhole(text)
	}
	in, err := decodeMessage(rest)
	if err != nil {
		return Message{}, err
	}

	return in.message(body)
}

// parseWhole is ParseMessage for a text whose body cannot be cut out.
func parseWhole(text []byte) (Message, error) {
	in, err := decodeMessage(text)
	if err != nil {
		return Message{}, err
	}
	return in.Message()
}

func decodeMessage(text []byte) (in MessageJSON, err error) {
	in.BodyBytes = sizeUnknown
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	decoder.DisallowUnknownFields()

	if err := decoder.Decode(&in); err != nil {
		if json.Unmarshal(text, new(MessageJSON)) == nil {
			return in, fmt.Errorf("it has a key that no message has (%s)", model.Printable(err.Error()))
		}
		return in, JSONError(err)
	}

	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return in, errors.New("there is more than one message in the line")
	}

	return in, nil
}

// Decode reads JSON, with numbers as json.Number. The error is one sentence.
func Decode(text []byte, into any) error {
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
		return fmt.Errorf("%s has the wrong type: %s", model.Printable(kind.Field), kind.Value)
	}

	return fmt.Errorf("it is not JSON: %s", model.Printable(err.Error()))
}

// Message converts the JSON back to a message. Its deaths and fingerprint are computed again.
func (in *MessageJSON) Message() (Message, error) { return in.message([]byte(in.Body)) }

// message is Message with the body as encoded in JSON, which it may retain.
func (in *MessageJSON) message(body []byte) (Message, error) {
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
		m.Body = body
	case "base64":
		if m.Body, err = base64.StdEncoding.AppendDecode(nil, body); err != nil {
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
