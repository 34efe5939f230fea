package message

import (
	"math"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
)

func TestBodyPreview(t *testing.T) {
	for _, c := range []struct {
		body string
		n    int
		want string
	}{
		{"", 5, ""},
		{"abc", 0, ""},
		{"{\n  \"a\": 1\n}", 80, `{ "a": 1 }`},
		{"ééééé", 3, "ééé"},
		{strings.Repeat("世", 100), 4, "世世世世"},
		{"\x1b[2J", 9, `\x1b[2J`},
		{"\xff\xfe", 9, `\xff\xfe`},
		{strings.Repeat("\x80", 100), 2, `\x80\x80`},
	} {
		m := Message{Body: []byte(c.body)}
		assert.Equal(t, m.BodyPreview(c.n), c.want, "%q", c.body)
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{
		-1: "?", 0: "0", 412: "412", 1023: "1023", 1024: "1K", 1229: "1.2K", 10 << 10: "10K", 10189: "10K", 1<<20 - 1: "1M",
		10 << 20: "10M", 3 << 30: "3G", math.MaxInt64: "8E",
	} {
		assert.Equal(t, Size(n), want, "%d", n)
	}
}
