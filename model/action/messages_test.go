package action

import (
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
)

func TestNamesAreShortened(t *testing.T) {
	for names, want := range map[string]string{
		"": "",
		"x-death x-first-death-exchange x-first-death-queue x-first-death-reason expiration": "x-death " +
			"x-first-death-* expiration",
		"x-first-death-exchange x-first-death-queue x-first-death-reason x-last-death-exchange x-last-death-queue " +
			"x-last-death-reason": "x-first-death-* x-last-death-*",
		// only what is there
		"x-first-death-exchange x-first-death-queue": "x-first-death-exchange x-first-death-queue",
	} {
		given := strings.Fields(names)
		assert.Equal(t, strings.Join(shortened(given), " "), want, "%s", names)
		assert.Equal(t, strings.Join(given, " "), names, "the names afterwards")
	}
}
