package serial

import (
	"encoding/binary"
	"errors"
)

// Why a value cannot be decoded.
var (
	ErrFormat  = errors.New("not this format")
	ErrTooMuch = errors.New("too large or too deep")
)

// Reader decodes foreign serialized values. Invalid input ends it with a panic, which Try turns into an error.
type Reader struct {
	Rest                []byte
	Values              int // decoded so far
	MaxValues, MaxDepth int
}

// Try returns read's result, or ErrFormat or ErrTooMuch.
func Try[T any](read func() T) (v T, err error) {
	defer func() {
		if bad := recover(); bad == any(ErrFormat) || bad == any(ErrTooMuch) {
			err = bad.(error)
		} else if bad != nil {
			panic(bad)
		}
	}()

	return read(), nil
}

// Check panics unless ok: the input does not have this format.
func Check(ok bool) {
	if !ok {
		panic(ErrFormat)
	}
}

// Spend counts a value at a depth, and panics when there are too many values or levels.
func (r *Reader) Spend(depth int) {
	if r.Values++; r.Values > r.MaxValues || depth > r.MaxDepth {
		panic(ErrTooMuch)
	}
}

func (r *Reader) Next(n uint64) []byte {
	Check(n <= uint64(len(r.Rest)))
	b := r.Rest[:n]
	r.Rest = r.Rest[n:]
	return b
}

// Number reads a big-endian number of at most 8 bytes.
func (r *Reader) Number(size uint64) uint64 {
	var n [8]byte
	copy(n[8-size:], r.Next(size))
	return binary.BigEndian.Uint64(n[:])
}
