package mgmt

import (
	"io"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// The limits for one answer. The full list of 10,000 queues has 9 MB, their bindings 2 MB (4.3.6); brokers have up to
// some ten thousand queues, and more than a hundred thousand do not arrive within the timeout.
var defaultSizes = sizes{object: 16 << 20, list: 128 << 20, element: 16 << 20, elements: 500_000}

// sizes are the limits for each kind of answer.
type sizes struct {
	object   int64 // bytes
	list     int64 // bytes
	element  int64 // bytes of one element: a queue's declaration has at most some 100 kB
	elements int
}

// endlessError is an answer larger than any broker's, as is http.MaxBytesError.
type endlessError struct{ what string }

func (e endlessError) Error() string { return "the answer has more than " + e.what }

// bytesOf returns a limit in words.
func bytesOf(limit int64) string { return message.Size(limit) + "B" }

// elements bounds each element of a list that is read from it.
type elements struct {
	io.Reader
	most    sizes
	begun   int
	current int64 // bytes since the current one began
}

// begin marks the beginning of an element, except for what was read ahead.
func (e *elements) begin() error {
	e.current = 0
	if e.begun++; e.begun > e.most.elements {
		return endlessError{model.Sayf("%v elements", int64(e.most.elements))}
	}
	return nil
}

func (e *elements) Read(p []byte) (n int, err error) {
	if e.current > e.most.element {
		return 0, endlessError{bytesOf(e.most.element) + " in one element"}
	}
	n, err = e.Reader.Read(p)
	e.current += int64(n)
	return n, err
}
