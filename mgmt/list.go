package mgmt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
)

// errOtherJSON is JSON of another form than the management API's.
var errOtherJSON = errors.New("the answer is JSON, but not the management API's")

// read passes the body of an answer on, under the client's timeout.
func (c *Client) read(
	ctx context.Context, path string, query url.Values, limit int64, decode func(io.Reader) error,
) error {
	return c.request(ctx, func(ctx context.Context) error { return c.answer(ctx, path, query, limit, decode) })
}

// answer passes the body of an answer on.
func (c *Client) answer(
	ctx context.Context, path string, query url.Values, limit int64, decode func(io.Reader) error,
) error {
	resp, err := c.get(ctx, path, query, limit)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return decode(resp.Body)
}

// getObject reads one object.
func (c *Client) getObject(ctx context.Context, path string, query url.Values, into any) error {
	return c.read(ctx, path, query, c.most.object, decodeInto(into))
}

func decodeInto(object any) func(io.Reader) error {
	return func(body io.Reader) error { return asOtherJSON(json.NewDecoder(body).Decode(object)) }
}

// asOtherJSON names what a decoder could not put into its type.
func asOtherJSON(err error) error {
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return errOtherJSON
	}
	return err
}

// getList reads a list and passes on each element; each must not keep the pointer. odd describes elements that are not
// objects.
func getList[T any](ctx context.Context, c *Client, path string, query url.Values, each func(*T)) (odd []string,
	err error,
) {
	err = c.read(ctx, path, query, c.most.list, func(body io.Reader) (err error) {
		odd, err = decodeList(body, c.most, each)
		return err
	})

	return odd, err
}

// getParts reads a list whose elements are parts of a snapshot; what names one in a sentence. missing says what could
// not be read.
func getParts[T, Part any](
	ctx context.Context, c *Client, path string, query url.Values, what string, part func(*T) (*Part, []string),
) (parts []Part, missing []string, err error) {
	parts = []Part{}
	odd, err := getList(ctx, c, path, query, func(e *T) {
		one, odd := part(e)
		missing = append(missing, odd...)
		if one != nil {
			parts = append(parts, *one)
		}
	})

	for _, words := range odd {
		missing = append(missing, what+": "+words)
	}
	if err != nil {
		return nil, nil, err
	}

	return parts, missing, nil
}

// unread says which fields of a part could not be read; nothing when all could.
func unread(part string, fields map[string]bool) []string {
	maps.DeleteFunc(fields, func(_ string, odd bool) bool { return !odd })
	if len(fields) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s: its %s cannot be read", part, joinAnd(slices.Collect(maps.Keys(fields))))}
}

// decodeList decodes an array without holding it: an element of the wrong kind is skipped. A truncated body is an
// error, because the rest is unknown.
func decodeList[T any](r io.Reader, most sizes, each func(*T)) (odd []string, err error) {
	source := &elements{Reader: r, most: most}
	decoder := json.NewDecoder(source)
	start, err := decoder.Token()
	if err != nil {
		return nil, unexpectedEnd(err)
	}
	if start != json.Delim('[') {
		return nil, errOtherJSON
	}
	var element, zero T
	for i := 1; decoder.More(); i++ {
		if err := source.begin(); err != nil {
			return nil, err
		}
		element = zero
		err := decoder.Decode(&element)
		// Fields are tolerant, so a type error is that of the element, and the decoder is positioned after it.
		if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			odd = append(odd, fmt.Sprintf("element %d of the list is a JSON %s, not an object", i, kind.Value))
			continue
		}

		if err != nil {
			return nil, unexpectedEnd(err)
		}
		each(&element)
	}

	if _, err := decoder.Token(); err != nil {
		return nil, unexpectedEnd(err)
	}

	return odd, nil
}

// unexpectedEnd makes one error of any body that ends too early.
func unexpectedEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
