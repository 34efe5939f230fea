package model

import "context"

type firstKey struct{}

// Together makes the records of what is done within the context those of one action.
func Together(ctx context.Context) context.Context {
	return context.WithValue(ctx, firstKey{}, new(int64))
}

// FirstOf returns where the first of these records is noted, 0 before there is one; nil without Together.
func FirstOf(ctx context.Context) *int64 {
	first, _ := ctx.Value(firstKey{}).(*int64)
	return first
}
