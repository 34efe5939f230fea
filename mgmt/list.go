package mgmt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
)

// errOtherJSON is JSON of another shape than the management API's.
var errOtherJSON = errors.New("the answer is JSON, but not the management API's")

// getObject reads one object.
func (c *Client) getObject(ctx context.Context, path string, query url.Values, into any) error {
	return c.request(ctx, func(ctx context.Context) error {
		resp, err := c.get(ctx, path, query, c.most.object)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		err = json.NewDecoder(resp.Body).Decode(into)
		if kind := (*json.UnmarshalTypeError)(nil); errors.As(err, &kind) {
			return errOtherJSON
		}
		return err
	})
}

// getList reads a list and hands it on element by element; each must not keep the pointer. odd tells, in words, the
// elements that are no objects at all.
func getList[T any](ctx context.Context, c *Client, path string, query url.Values, each func(*T)) (odd []string,
	err error,
) {
	err = c.request(ctx, func(ctx context.Context) error {
		resp, err := c.get(ctx, path, query, c.most.list)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		odd, err = decodeList(resp.Body, c.most, each)
		return err
	})
	return odd, err
}

// decodeList decodes an array without holding it: one element of the wrong kind loses only itself. A body that breaks
// off is an error, since nobody knows what the rest was.
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
		// Fields are tolerant themselves: a kind that does not fit is that of the element, and the decoder is behind it.
		if kind := (*json.UnmarshalTypeError)(nil); errors.As(err, &kind) {
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

// unexpectedEnd makes a body that ends too early one error, wherever it ended.
func unexpectedEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
