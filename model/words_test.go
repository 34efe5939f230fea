package model_test

import (
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
)

func TestPlural(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 messages", 1: "1 message", 999: "999 messages", 1000: "1,000 messages",
		-1234567: "-1,234,567 messages",
	} {
		assert.Equal(t, model.Plural(n, "message"), want, "%d", n)
	}
}
