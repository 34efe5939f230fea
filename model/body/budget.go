package body

import "errors"

var (
	errStructure = errors.New("not this format")
	errTooMuch   = errors.New("too large or too deep")
)

// budget bounds how much a reader takes from one body.
type budget struct{ values int }

// spend is an error when there are too many values, or too many levels.
func (b *budget) spend(depth int) error {
	if b.values++; b.values > maxValues || depth > maxDepth {
		return errTooMuch
	}
	return nil
}
